import { describe, expect, it } from 'vitest';
import { HEAD_RETRY_MS, HEAD_TAKE_OVERS_MAX } from '../../src/domain/limits.js';
import type { HeadWriterOptions } from '../../src/write/heads.js';
import { message } from '../stores/fixtures.js';
import { eventually, gate, headWriter, heldStore, latest, update } from './head-fixtures.js';
import { bytes, chat, previewText, writingProcess } from './write-fixtures.js';

describe('a head’s owner (D2)', () => {
  it('D2: an old owner’s late write changes nothing, and it learns that it was superseded', async () => {
    const process = await writingProcess();
    const where = chat();
    const held = heldStore(process);
    const old = headWriter(process, { store: held.store });
    old.heads.update(update(where, 98n));
    await eventually(() => held.started() === 1);
    const owner = headWriter(process);
    owner.heads.update(update(where, 99n));
    await owner.heads.idle();
    held.release();
    await old.heads.idle();
    expect(await latest(process, where)).toBe(99n);
    expect(old.heads.stats()).toMatchObject({ written: 0, dropped: 0 });
  });

  it('D2, R5.2: an owner that has taken over and not written yet undoes nothing that the former one writes meanwhile', async () => {
    const process = await writingProcess();
    const where = chat();
    const former = headWriter(process);
    former.heads.update(update(where, 1n));
    await former.heads.idle();
    const held = heldStore(process);
    const next = headWriter(process, { store: held.store });
    next.heads.update(update(where, 2n));
    await eventually(() => held.started() === 1);
    former.heads.update(update(where, 3n));
    await former.heads.idle();
    held.release();
    await next.heads.idle();
    expect(await latest(process, where)).toBe(3n);
  });

  it('D2: an owner that died on its claim keeps nobody from writing, and nothing that was shown is lost', async () => {
    const process = await writingProcess();
    const where = chat();
    const { writes } = process.opened;
    const former = headWriter(process);
    const createdAtMs = BigInt(process.clock.ms);
    former.heads.update(update(where, 1n, { preview: bytes('one'), createdAtMs }));
    await former.heads.idle();
    await writes.claimHead(where.tenantId, where.conversationId, 9n);
    // What it shows already is written once more, above the claim.
    const repeated = update(where, 1n, { isRepeated: true });
    const { heads, alerts } = headWriter(process);
    heads.update(repeated);
    await heads.idle();
    const head = await writes.readHead(where.tenantId, where.conversationId);
    expect(head).toMatchObject({ latestSeq: 1n, fencingEpoch: 10n, headVersion: 1n });
    expect(await previewText(process, where)).toBe('one');
    await writes.claimHead(where.tenantId, where.conversationId, 19n);
    former.heads.update(update(where, 2n));
    await former.heads.idle();
    expect(await latest(process, where)).toBe(2n);
    expect(alerts).toEqual([]);
  });

  it('D2, D12: an owner that repeats what it found under its claim learns of one that did not read it', async () => {
    const process = await writingProcess();
    const where = chat();
    const { writes } = process.opened;
    const gates = { qRead: gate(), qWrite: gate(), pRepeats: gate() };
    const [counts, store] = [
      { qReads: 0, qWrites: 0, pWrites: 0 },
      { claimHead: writes.claimHead.bind(writes) },
    ];
    const { heads: q } = headWriter(process, {
      store: {
        ...store,
        readHead: async (...given) => {
          const head = await writes.readHead(...given);
          if (++counts.qReads === 2) await gates.qRead.pass();
          return head;
        },
        writeHead: async (...given) => {
          if (++counts.qWrites === 1) await gates.qWrite.pass();
          return writes.writeHead(...given);
        },
      },
    });
    const { heads: p } = headWriter(process, {
      store: {
        ...store,
        readHead: writes.readHead.bind(writes),
        writeHead: async (...given) => {
          if (++counts.pWrites === 3) await gates.pRepeats.pass();
          return writes.writeHead(...given);
        },
      },
    });
    const keyAtMs = BigInt(process.clock.ms);
    const last = update(where, 5n, { preview: bytes('secret'), createdAtMs: keyAtMs });
    const revision = (byte: number, preview: Uint8Array | undefined) => ({
      ...last,
      preview,
      keyAtMs,
      lastActivityId: message(Buffer.alloc(16, byte)) as never,
    });
    p.update(last);
    await p.idle();
    // Q edits: it has claimed the head and read it. P recalls, finds the claim, takes over, and repeats what it finds.
    void q.revise(revision(0xfe, bytes('edited secret')));
    await gates.qRead.reached;
    const recalled = p.revise(revision(0xff, undefined));
    await gates.pRepeats.reached;
    // Q writes, is superseded, takes over above P, and repeats what it finds: its own, since P's is on its way.
    gates.qRead.open();
    await gates.qWrite.reached;
    gates.qWrite.open();
    await q.idle();
    gates.pRepeats.open();
    await recalled;
    await p.idle();
    expect(await previewText(process, where)).toBeUndefined();
  });

  it('D2: where others take over without end an attempt ends, and is made again later', async () => {
    const process = await writingProcess();
    const where = chat();
    const { writes } = process.opened;
    let claims = 0;
    const store: HeadWriterOptions['store'] = {
      readHead: (...args) => writes.readHead(...args),
      writeHead: (...args) => writes.writeHead(...args),
      claimHead: async (tenantId, conversationId, epoch) => {
        await writes.claimHead(tenantId, conversationId, epoch);
        if (claims++ < HEAD_TAKE_OVERS_MAX) await writes.claimHead(tenantId, conversationId, epoch + 1n);
      },
    };
    const { heads, pauses } = headWriter(process, { store });
    heads.update(update(where, 4n));
    await heads.idle();
    expect(await latest(process, where)).toBe(4n);
    expect(pauses).toEqual([HEAD_RETRY_MS.first]);
    expect(heads.stats()).toMatchObject({ written: 1, failures: 1 });
  });

  it('D2: an owner whose epoch source gives no higher epoch is fenced: dropped, with an alert', async () => {
    const process = await writingProcess();
    const where = chat();
    const owner = headWriter(process, { epochs: { acquire: async () => 7n } });
    owner.heads.update(update(where, 10n));
    await owner.heads.idle();
    const fenced = headWriter(process, { epochs: { acquire: async () => 7n } });
    fenced.heads.update(update(where, 11n));
    await fenced.heads.idle();
    expect(await latest(process, where)).toBe(10n);
    expect(fenced.alerts).toEqual(['HEAD_DROPPED']);
  });

  it('D2: epochs pass those of another source, and versions count up from 1', async () => {
    const process = await writingProcess();
    const where = chat();
    const other = headWriter(process, { epochs: { acquire: async () => 5000n } });
    other.heads.update(update(where, 1n));
    await other.heads.idle();
    const { heads } = headWriter(process);
    for (const seq of [2n, 3n]) {
      heads.update(update(where, seq));
      await heads.idle();
    }
    const head = await process.opened.writes.readHead(where.tenantId, where.conversationId);
    expect(head).toMatchObject({ latestSeq: 3n, fencingEpoch: 5001n, headVersion: 2n });
  });

  it('D23: seal the preview; one without a text, or whose key is gone, shows none and not its predecessor’s', async () => {
    const process = await writingProcess();
    const where = chat();
    const { heads } = headWriter(process);
    const createdAtMs = BigInt(process.clock.ms);
    heads.update(update(where, 1n, { preview: bytes('one'), createdAtMs }));
    await heads.idle();
    expect(await previewText(process, where)).toBe('one');
    heads.update(update(where, 2n, { createdAtMs }));
    await heads.idle();
    expect(await previewText(process, where)).toBeUndefined();
    heads.update(update(where, 3n, { preview: bytes('three'), createdAtMs }));
    await heads.idle();
    expect(await previewText(process, where)).toBe('three');
    const dekId = await process.sealer.keyAt(where.tenantId, where.conversationId, process.clock.ms);
    await process.keys.destroy(dekId);
    process.keyring.markDestroyed(dekId);
    heads.update(update(where, 4n, { preview: bytes('four'), createdAtMs }));
    await heads.idle();
    expect(await latest(process, where)).toBe(4n);
    expect(
      (await process.opened.writes.readHead(where.tenantId, where.conversationId))?.preview,
    ).toBeUndefined();
  });
});
