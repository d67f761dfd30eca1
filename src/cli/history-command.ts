/**
 * `mailjoin history`: a conversation page by page (R4.1, D3, D4). For people a page has its newest message at the bottom,
 * as chats do, whichever way is walked; for machines (--json) messages stand in the order of the walk. Content is shown
 * with --content alone, like `heads` and `lookup` show none. Exit code 1 where a conversation has nothing to show.
 */
import { MailjoinError } from '../domain/errors.js';
import { formatUuid } from '../domain/ids.js';
import { HISTORY_LIMIT_DEFAULT, HISTORY_LIMIT_MAX } from '../domain/limits.js';
import { parseSeq, SEQ_MAX } from '../domain/seq.js';
import { type Command, CQL_SETTINGS, ExitCode, type Invocation, JSON_OPTION } from './command.js';
import type { CommandOption } from './command-line.js';
import { folded, historyJson, historyLine } from './history-lines.js';
import {
  type HistorySource,
  type PageRequest,
  type ShownPage,
  socketSource,
  storeSource,
} from './history-source.js';
import { numberOption } from './number-option.js';
import { flagOf, type SettingName, settingOf } from './settings.js';
import { stopSignal } from './stop-signal.js';
import { requiredTenant, tenantOption } from './tenant-option.js';
import { typedConversationId } from './typed-id.js';
import { UsageError } from './usage-error.js';

const ANCHOR: CommandOption = {
  flag: 'anchor',
  placeholder: 'seq',
  meaning:
    'Begin below this seq, or with --newer above it. Unless given, with the newest message, or the first.',
};
const NEWER: CommandOption = { flag: 'newer', meaning: 'Go towards newer messages instead of older ones.' };
const LIMIT: CommandOption = {
  flag: 'limit',
  placeholder: 'n',
  meaning: `Messages of a page, 1 to ${HISTORY_LIMIT_MAX}. Default: ${HISTORY_LIMIT_DEFAULT}.`,
};
const PAGES: CommandOption = {
  flag: 'pages',
  placeholder: 'n',
  meaning: 'Pages to show without asking. Default: 1. A terminal then asks; anywhere else the command ends.',
};
const ALL: CommandOption = { flag: 'all', meaning: 'Show every page without asking.' };
const OVER_HOLES: CommandOption = {
  flag: 'over-holes',
  meaning: 'Go on behind every hole: a stretch of seqs without messages where reading stops otherwise (D4).',
};
const CONTENT: CommandOption = {
  flag: 'content',
  meaning: 'Show what the messages say, not only their sizes.',
};
const VIA_SOCKET: CommandOption = {
  flag: 'via-socket',
  meaning: 'Ask the sidecar on --socket, which shows what gateways see, instead of the store.',
};
/** Options that the next command has as well. */
const KEPT = [NEWER, LIMIT, PAGES, ALL, OVER_HOLES, CONTENT, VIA_SOCKET, JSON_OPTION];
const HISTORY_SETTINGS: readonly SettingName[] = [
  'config',
  'logLevel',
  'socket',
  'store',
  'dataDir',
  ...CQL_SETTINGS,
  'kekFile',
  'allowUnsealed',
];
const PAGES_MAX = 1_000_000;
/** Pages between two words about how it goes on. */
const PAGES_PER_NOTICE = 50;

export const historyCommand: Command = {
  name: 'history',
  operands: 'CONVERSATION',
  operandCountMin: 1,
  operandCountMax: 1,
  summary: 'Show a conversation page by page.',
  settings: HISTORY_SETTINGS,
  options: [tenantOption('conversation'), ANCHOR, ...KEPT],
  run: history,
};

async function history(invocation: Invocation): Promise<ExitCode> {
  const { settings, options, operands, log } = invocation;
  const tenantId = requiredTenant(options, 'history');
  if (options.has(ALL.flag) && options.has(PAGES.flag)) {
    throw new UsageError('--all and --pages cannot be given together');
  }
  const request: PageRequest = {
    tenantId,
    conversationId: typedConversationId(operands[0], 'CONVERSATION'),
    newer: options.has(NEWER.flag),
    anchor: anchorOf(options.get(ANCHOR.flag)),
    limit: numberOption(options, LIMIT.flag, HISTORY_LIMIT_DEFAULT, { min: 1, max: HISTORY_LIMIT_MAX }),
  };
  const pages = numberOption(options, PAGES.flag, 1, { min: 1, max: PAGES_MAX });
  const stop = stopSignal();
  try {
    const source = options.has(VIA_SOCKET.flag)
      ? socketSource(settings.socket)
      : await storeSource(settings, log);
    try {
      return await walk(invocation, source, request, options.has(ALL.flag) ? Infinity : pages, stop.signal);
    } finally {
      await source.close();
    }
  } finally {
    stop.release();
  }
}

function anchorOf(text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined;
  const anchor = parseSeq(text);
  if (anchor === undefined)
    throw new UsageError(`--${ANCHOR.flag} must be a whole number from 0 to ${SEQ_MAX}`);
  return anchor;
}

/** Shows pages until their end, a hole, or nobody wants more; then says where it goes on. Stopped by a signal it has failed. */
async function walk(
  invocation: Invocation,
  source: HistorySource,
  request: PageRequest,
  pages: number,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { options, terminal, tell } = invocation;
  const asJson = options.has(JSON_OPTION.flag);
  let { anchor } = request;
  let unasked = pages;
  let shown = 0;
  let page: ShownPage;
  for (let read = 1; ; read++) {
    try {
      page = await pageThatGoesOn(source, { ...request, anchor });
    } catch (error) {
      if (read > 1 && anchor !== undefined) tell(`To go on from here: ${nextCommand(invocation, anchor)}`);
      throw error;
    }
    showMessages(invocation, page, request.newer);
    await invocation.flushed();
    shown += page.entries.length;
    const isHole = page.hole !== undefined;
    const next = page.hole?.continueAnchor ?? page.nextAnchor;
    if (next === undefined || signal.aborted) break;
    const passesHole = isHole && options.has(OVER_HOLES.flag);
    // A page without messages is none that anybody has seen, and one that a hole cut short goes on behind it.
    if (page.entries.length > 0 && !passesHole) unasked--;
    if (unasked <= 0 || (isHole && !passesHole)) {
      if (asJson || terminal === undefined) break;
      if (!(await terminal.askToGoOn(promptOf(page, passesHole), signal))) break;
    }
    anchor = next;
    if (read % PAGES_PER_NOTICE === 0) tell(`${shown} messages so far, now at seq ${anchor}`);
  }
  tellEnd(invocation, request, page, shown);
  const isEnd = page.nextAnchor === undefined && page.hole === undefined;
  return signal.aborted && !isEnd ? ExitCode.FAILED : ExitCode.OK;
}

/** A sidecar of another version may answer with a page that leads nowhere else: asking for it again might never end. */
async function pageThatGoesOn(source: HistorySource, request: PageRequest): Promise<ShownPage> {
  const page = await source.page(request);
  const { entries, hasMore, nextAnchor } = page;
  if (hasMore && entries.length === 0 && (nextAnchor === undefined || nextAnchor === request.anchor)) {
    throw new MailjoinError('STORE_UNAVAILABLE', 'nothing was read within the deadline; try again');
  }
  return page;
}

function showMessages({ options, terminal, print }: Invocation, page: ShownPage, newer: boolean): void {
  const withContent = options.has(CONTENT.flag);
  if (options.has(JSON_OPTION.flag)) {
    for (const entry of page.entries) print(historyJson(entry, withContent));
    return;
  }
  const rising = newer ? page.entries : page.entries.toReversed();
  for (const entry of rising) {
    const line = historyLine(entry, withContent);
    print(terminal === undefined ? line : folded(line, terminal.columns));
  }
}

function promptOf({ hole }: ShownPage, passesHole: boolean): string {
  const before = hole === undefined || passesHole ? '' : `hole from seq ${hole.beganAt}: `;
  return `-- ${before}Enter: go on   q: quit --`;
}

function tellEnd(invocation: Invocation, request: PageRequest, page: ShownPage, shown: number): void {
  const { options, print } = invocation;
  const { hasMore, nextAnchor, stop, hole } = page;
  if (options.has(JSON_OPTION.flag)) {
    const hereBegan = hole && {
      began_at: String(hole.beganAt),
      continue_anchor: String(hole.continueAnchor),
    };
    print(JSON.stringify({ has_more: hasMore, next_anchor: nextAnchor?.toString(), stop, hole: hereBegan }));
  }
  if (shown === 0 && stop === 'END' && request.anchor === undefined) {
    throw new MailjoinError('MESSAGE_NOT_FOUND', 'the conversation has no message to show');
  }
  if (options.has(JSON_OPTION.flag)) return;
  const way = request.newer ? 'newer' : 'older';
  const next = hole?.continueAnchor ?? nextAnchor;
  if (hole !== undefined) {
    print(`A hole: no messages from seq ${hole.beganAt} on (${way}). Behind it there may be more:`);
  }
  if (next !== undefined) print(`${hole === undefined ? `${way}: ` : ''}${nextCommand(invocation, next)}`);
  else if (shown === 0) print(`No ${way} messages.`);
}

/** What shows the next page: this command with another anchor. Secrets stay in the environment. */
function nextCommand({ operands, options, settings }: Invocation, anchor: bigint): string {
  const tenant = requiredTenant(options, 'history');
  const words = ['mailjoin', 'history', ...operands, '--tenant', formatUuid(tenant)];
  words.push(`--${ANCHOR.flag}`, String(anchor));
  for (const { flag, placeholder } of KEPT) {
    const value = options.get(flag);
    if (value === undefined) continue;
    words.push(`--${flag}`, ...(placeholder === undefined ? [] : [value]));
  }
  for (const name of HISTORY_SETTINGS) {
    const { type, fallback, secret } = settingOf(name);
    const value = settings[name];
    if (secret || value === undefined) continue;
    const text = type.format(value);
    if (fallback !== undefined && text === type.format(fallback)) continue;
    words.push(`--${flagOf(name)}=${text}`);
  }
  return words.map(quoted).join(' ');
}

/** A word as a shell takes it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
