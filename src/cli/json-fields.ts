/**
 * Reads the fields of a JSON object that a person wrote: null is the same as absent, an unknown name is refused with the
 * nearest known one, and what is wrong names its field. MESSAGE_INVALID; values are never repeated in it.
 */
import { MailjoinError } from '../domain/errors.js';
import { didYouMean } from './suggestion.js';

const INTEGER = /^-?(0|[1-9][0-9]{0,19})$/;
const LONE_SURROGATE = /\p{Surrogate}/u;
/** With a length that 4 divides. No repeated group: the engine keeps a place to go back to for each of its turns, and a payload has millions. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** A field that there may be, for the parser and for the help. */
export interface JsonField {
  /** Of several, which say the same in different ways, at most one is given. */
  readonly names: readonly string[];
  readonly isRequired: boolean;
  readonly meaning: string;
}

export class JsonFields {
  readonly #fields: ReadonlyMap<string, unknown>;
  /** What stands before a field's name in a problem: "media_metadata." or nothing. */
  readonly #prefix: string;

  /** `value` is parsed JSON; `names` are the fields that there may be. */
  constructor(value: unknown, names: readonly string[], prefix = '') {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw invalid(prefix === '' ? 'it is no JSON object' : `${prefix.slice(0, -1)} is no JSON object`);
    }
    const fields = Object.entries(value).filter(([, field]) => field !== null);
    for (const [name] of fields) {
      if (!names.includes(name)) throw invalid(`no such field: ${prefix}${name}${didYouMean(name, names)}`);
    }
    this.#fields = new Map(fields);
    this.#prefix = prefix;
  }

  /** Refuses the first of these that must be given and is not. */
  requireAll(fields: readonly JsonField[]): void {
    const missing = fields.find(
      ({ names, isRequired }) => isRequired && !names.some((name) => this.has(name)),
    );
    if (missing !== undefined) throw this.problem(missing.names.join(' or '), 'is missing');
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  value(name: string): unknown {
    return this.#fields.get(name);
  }

  text(name: string): string | undefined {
    const value = this.#fields.get(name);
    if (value === undefined || typeof value === 'string') return value;
    throw this.problem(name, 'is no text');
  }

  requiredText(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw this.problem(name, 'is missing');
    return value;
  }

  /** An integer as a JSON number up to 2^53 − 1, or as a decimal text of any size. */
  bigint(name: string): bigint | undefined {
    const value = this.#fields.get(name);
    if (value === undefined) return undefined;
    if (typeof value === 'string' && INTEGER.test(value)) return BigInt(value);
    if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
    const why = typeof value === 'number' ? 'was rounded: write it as a text' : 'is no whole number';
    throw this.problem(name, why);
  }

  integer(name: string): number | undefined {
    const value = this.bigint(name);
    if (value === undefined) return undefined;
    if (value < BigInt(Number.MIN_SAFE_INTEGER) || value > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw this.problem(name, 'is out of range');
    }
    return Number(value);
  }

  boolean(name: string): boolean | undefined {
    const value = this.#fields.get(name);
    if (value === undefined || typeof value === 'boolean') return value;
    throw this.problem(name, 'is neither true nor false');
  }

  base64(name: string): Uint8Array | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (text.length % 4 !== 0 || !BASE64.test(text)) throw this.problem(name, 'is no base64');
    return Buffer.from(text, 'base64');
  }

  /** Bytes written as name_text or as name_base64: at most one of the two. */
  bytes(name: string): Uint8Array | undefined {
    const text = this.text(`${name}_text`);
    const bytes = this.base64(`${name}_base64`);
    if (text !== undefined && bytes !== undefined) {
      throw this.problem(name, `is given as ${name}_text and as ${name}_base64`);
    }
    if (text === undefined) return bytes;
    // It would silently become another character.
    if (LONE_SURROGATE.test(text)) throw this.problem(`${name}_text`, 'has no UTF-8 form');
    return Buffer.from(text, 'utf8');
  }

  requiredBytes(name: string): Uint8Array {
    const bytes = this.bytes(name);
    if (bytes === undefined) throw this.problem(`${name}_text or ${name}_base64`, 'is missing');
    return bytes;
  }

  problem(name: string, what: string): MailjoinError {
    return invalid(`${this.#prefix}${name} ${what}`);
  }
}

function invalid(detail: string): MailjoinError {
  return new MailjoinError('MESSAGE_INVALID', detail);
}
