/**
 * Looking inside a body, for gateways that must: the hot path places bodies into frames unchanged and unread.
 */
import { decodeMessageBody as decode, type MessageBody } from '../codec/message-body.js';
import { asProtocolError } from './protocol-error.js';

/** Decodes an outcome's body. Byte fields are views on it. Throws CLIENT_PROTOCOL when it is no MessageBody. */
export function decodeMessageBody(body: Uint8Array): MessageBody {
  try {
    return decode(body);
  } catch (error) {
    throw asProtocolError(error);
  }
}
