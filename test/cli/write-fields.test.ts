/** The fields that the help of the writing commands lists, against what their parsers take and ask for. */
import { describe, expect, it } from 'vitest';
import { commandHelp } from '../../src/cli/help.js';
import { COMMANDS } from '../../src/cli/program.js';
import {
  COMMIT_FIELDS,
  EDIT_FIELDS,
  LIFT_FIELDS,
  REACTION_FIELDS,
  RECALL_FIELDS,
  TARGET_FIELDS,
} from '../../src/cli/write-fields.js';
import {
  commitFromJson,
  editFromJson,
  holdFromJson,
  liftFromJson,
  reactionFromJson,
  recallFromJson,
} from '../../src/cli/write-json.js';

const UUID = '00112233-4455-6677-8899-aabbccddeeff';
const VALUES: Readonly<Record<string, unknown>> = {
  tenant_id: UUID,
  conversation_id: UUID,
  sender_id: UUID,
  sender_device_id: UUID,
  user_id: UUID,
  conversation_seq: '1',
  reply_to_conversation_seq: '1',
  message_id: '0'.repeat(32),
  message_type: 1,
  schema_version: 1,
  retention_class: 'default',
  take_back: true,
  media_metadata: { object_id: 'o' },
  mention_targets: { user_ids: [UUID], at_all: true },
};
/** What fields without a value of their own have: text, and base64 of 3 bytes. */
const TEXT = 'AAAA';

describe.each([
  ['commit', COMMIT_FIELDS, (value: unknown) => commitFromJson(value, () => 'made')],
  ['recall', RECALL_FIELDS, recallFromJson],
  ['edit', EDIT_FIELDS, editFromJson],
  ['react', REACTION_FIELDS, reactionFromJson],
  ['hold place', TARGET_FIELDS, holdFromJson],
  ['hold lift', LIFT_FIELDS, liftFromJson],
] as const)('%s', (name, fields, parse) => {
  const entryOf = (field: string) => [field, VALUES[field] ?? TEXT] as const;
  const required = fields.filter(({ isRequired }) => isRequired);
  const least = Object.fromEntries(required.map(({ names }) => entryOf(names[0] ?? '')));
  const isAlone = (field: string) => fields.some(({ names }) => names.length > 1 && names.includes(field));

  it('takes the required fields alone, and each of the others beside them', () => {
    expect(() => parse(least)).not.toThrow();
    for (const { names } of fields) {
      for (const field of names) {
        const others = Object.entries(least).filter(([key]) => !names.includes(key));
        expect(() => parse(Object.fromEntries([...others, entryOf(field)])), field).not.toThrow();
      }
    }
  });

  it('refuses an item without one of the required, by its names, and two that say the same', () => {
    for (const { names } of required) {
      const without = Object.entries(least).filter(([key]) => !names.includes(key));
      expect(() => parse(Object.fromEntries(without))).toThrow(`${names.join(' or ')} is missing`);
    }
    for (const { names } of fields.filter((field) => field.names.some(isAlone))) {
      const both = Object.fromEntries([...Object.entries(least), ...names.map(entryOf)]);
      expect(() => parse(both), names.join()).toThrow();
    }
  });

  it('lists them in its help, the required ones marked', () => {
    const command = COMMANDS.find((each) => each.name === name);
    const help = command === undefined ? '' : commandHelp(command);
    expect(help).toContain('Fields of the JSON, one object an item; * must be given');
    for (const { names, isRequired, meaning } of fields) {
      expect(help).toContain(
        `\n  ${names.join(' | ')}${isRequired ? ' *' : ''}\n      ${meaning.slice(0, 20)}`,
      );
    }
  });
});

it('commands that take no JSON list no fields', () => {
  const listing = COMMANDS.filter((command) => commandHelp(command).includes('Fields of the JSON'));
  expect(listing.map(({ name }) => name)).toEqual([
    'commit',
    'recall',
    'edit',
    'react',
    'hold place',
    'hold lift',
  ]);
});
