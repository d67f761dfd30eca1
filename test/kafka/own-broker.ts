/** A real Kafka of one test file, on ports and a folder that it keeps: to be killed, frozen and started again. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '../../src/provision/free-ports.js';
import { type Kafka, startKafka } from '../../src/provision/kafka.js';
import { until } from '../stores/fixtures.js';

const CLASS_PATH = /(?:^|\0)([^\0]*kafka_2\.13[^\0]*)\0/;

export class OwnBroker {
  readonly contactPoint: string;
  readonly #folder: string;
  readonly #ports: { readonly broker: number; readonly controller: number };
  #kafka: Kafka | undefined;

  private constructor(folder: string, broker: number, controller: number) {
    this.#folder = folder;
    this.#ports = { broker, controller };
    this.contactPoint = `127.0.0.1:${broker}`;
  }

  /** Chooses its place; start() starts it. */
  static async prepare(): Promise<OwnBroker> {
    const [broker = 0, controller = 0] = await freePorts(2, ['127.0.0.1']);
    return new OwnBroker(mkdtempSync(join(tmpdir(), 'mailjoin-own-kafka-')), broker, controller);
  }

  async start(): Promise<void> {
    this.#kafka = await startKafka({ dataDir: this.#folder, ports: this.#ports, heapMb: 256 });
  }

  /** As a crash would. */
  async kill(): Promise<void> {
    this.#kafka?.kill();
    await this.#kafka?.stop();
    this.#kafka = undefined;
  }

  /** It keeps its connections and answers nothing. */
  /** Stops the process where it stands; resolves when each of its threads has stopped, which the signal does not wait for. */
  async freeze(): Promise<void> {
    const pid = this.#pid();
    process.kill(pid, 'SIGSTOP');
    await until(async () => threadsOf(pid).every((state) => state === 'T'));
  }

  thaw(): void {
    process.kill(this.#pid(), 'SIGCONT');
  }

  async remove(): Promise<void> {
    await this.#kafka?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The values of a partition by offset, read from its segment by Kafka's own tool: no code of ours. */
  async dump(topic: string, partition: number): Promise<Map<bigint, string>> {
    const folder = join(this.#folder, 'data', `${topic}-${partition}`);
    const segment = readdirSync(folder).find((name) => name.endsWith('.log'));
    const { stdout: command } = await promisify(execFile)('cat', [`/proc/${this.#pid()}/cmdline`]);
    const jars = CLASS_PATH.exec(command)?.[1] ?? '';
    const { stdout } = await promisify(execFile)(
      'java',
      [
        '-Xmx128m',
        '-cp',
        jars,
        'kafka.tools.DumpLogSegments',
        '--print-data-log',
        '--files',
        join(folder, segment ?? ''),
      ],
      { maxBuffer: 64 * 1024 * 1024 },
    );
    return new Map(
      [...stdout.matchAll(/offset: (\d+) .*? payload: (.*)$/gm)].map((match) => [
        BigInt(match[1] as string),
        match[2] as string,
      ]),
    );
  }

  #pid(): number {
    if (this.#kafka === undefined) throw new Error('the broker is not running');
    return this.#kafka.pid;
  }
}

/** The states of a process's threads, as Linux tells them: the letter behind the name in parentheses. */
function threadsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '';
  });
}
