/**
 * Messages of a history page as lines for people and as objects for machines. Content only where it was asked for: what
 * an operator sees by default holds nothing that a user wrote. Pure.
 */
import stringWidth from 'string-width';
import type { HistoryEntry } from '../client/history-call.js';
import { decodeMessageBody } from '../client/message-body.js';
import type { MessageBody } from '../codec/message-body.js';
import { formatHex, formatUuid } from '../domain/ids.js';
import { MessageState } from '../domain/message.js';
import { visibleText } from './visible-text.js';

const INDENT = '  ';
const CHARACTERS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const CHARACTER_COLUMNS_MAX = 2;
const ASCII = /^[ -~]*$/;
/** Code units that are segmented at once: the time that a segmenter takes grows with the square of a text's length. */
const PIECE_LENGTH = 512;
const STRICT_TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** One message: seq, time, sender, state or result, size, reactions; with `withContent` its text behind them. */
export function historyLine({ seq, result, body }: HistoryEntry, withContent: boolean): string {
  if (body === undefined) return `${seq}  ${result}`;
  const { createdAtMs, senderId, state, payload, reactions } = decodeMessageBody(body);
  const counts = [...(reactions?.counts ?? [])].map(([key, count]) => `${key}×${count}`);
  const isRecalled = state === MessageState.RECALLED;
  const parts = [
    String(seq),
    dateText(createdAtMs),
    idText(senderId) ?? 'no sender',
    isRecalled ? 'RECALLED' : state === MessageState.EDITED ? 'EDITED' : '',
    isRecalled ? '(recalled)' : `${payload?.length ?? 0} B`,
    counts.join(' '),
    withContent && !isRecalled ? contentText(payload) : '',
  ];
  return visibleText(parts.filter((part) => part !== '').join('  '));
}

/** The same with the names of proto/mailjoin.proto; 64-bit numbers are texts. */
export function historyJson({ seq, messageId, result, body }: HistoryEntry, withContent: boolean): string {
  const shown = body === undefined ? {} : bodyFields(decodeMessageBody(body), withContent);
  return JSON.stringify({
    conversation_seq: String(seq),
    message_id: formatHex(messageId),
    result,
    ...shown,
  });
}

function bodyFields(body: MessageBody, withContent: boolean): Record<string, unknown> {
  const { payload, reactions, state } = body;
  const text = withContent && payload !== undefined ? textOf(payload) : undefined;
  const names = Object.entries(MessageState);
  return {
    created_at: String(body.createdAtMs),
    sender_id: idText(body.senderId),
    state: names.find(([, number]) => number === state)?.[0] ?? String(state),
    payload_bytes: payload?.length,
    // fromEntries defines own properties, so that a key like __proto__ is just a key (B47).
    reactions: reactions && Object.fromEntries(reactions.counts),
    payload_text: text,
    payload_base64:
      withContent && payload !== undefined && text === undefined
        ? Buffer.from(payload).toString('base64')
        : undefined,
  };
}

function contentText(payload: Uint8Array | undefined): string {
  if (payload === undefined) return '';
  return textOf(payload) ?? '(not text)';
}

function textOf(payload: Uint8Array): string | undefined {
  try {
    return STRICT_TEXT.decode(payload);
  } catch {
    return undefined;
  }
}

function idText(id: Uint8Array | undefined): string | undefined {
  return id && formatUuid(id);
}

function dateText(epochMs: bigint): string {
  const date = new Date(Number(epochMs));
  // Rows of foreign writers may hold any number.
  return Number.isNaN(date.getTime()) ? 'no date' : date.toISOString();
}

/**
 * Lines of at most `columns` columns, the further ones indented: a terminal then breaks none by itself. What a reader takes
 * for one character is never torn apart, and may be two columns wide (East Asian letters, emoji).
 */
export function folded(text: string, columns: number): string {
  const width = Math.max(columns, INDENT.length + CHARACTER_COLUMNS_MAX);
  const lines: string[] = [];
  let line = '';
  let used = 0;
  for (const character of charactersOf(text)) {
    const wanted = stringWidth(character);
    if (used + wanted > width) {
      lines.push(line);
      line = INDENT;
      used = INDENT.length;
    }
    line += character;
    used += wanted;
  }
  lines.push(line);
  return lines.join('\n');
}

/** What a reader takes for one character, each; one of more than a piece comes in parts, of which the later ones are marks. */
function* charactersOf(text: string): Generator<string> {
  let from = 0;
  while (from < text.length) {
    let to = Math.min(from + PIECE_LENGTH, text.length);
    // Half a code point does not tell whether it belongs to what stands before it.
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to--;
    const piece = text.slice(from, to);
    const characters = ASCII.test(piece)
      ? piece.split('')
      : Array.from(CHARACTERS.segment(piece), ({ segment }) => segment);
    // The last one may go on in the next piece.
    if (to < text.length && characters.length > 1) characters.pop();
    for (const character of characters) {
      from += character.length;
      yield character;
    }
  }
}

function isHighSurrogate(codeUnit: number): boolean {
  return codeUnit >= 0xd800 && codeUnit < 0xdc00;
}
