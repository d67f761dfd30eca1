/**
 * Starts a real Apache Kafka on this machine: one node in KRaft mode, which speaks the protocol of a Redpanda.
 *
 * Needs Java 17, and Maven the first time. Without a data folder everything lies in a temporary one that goes with
 * the server, also when this process is killed. One replica of everything: for development and tests alone.
 * Failure: JAVA_MISSING, or SERVICE_START with the end of the log; nothing started stays behind.
 */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { codedStart } from './coded-start.js';
import { freePorts } from './free-ports.js';
import { type JarSet, resolveJars } from './jar-cache.js';
import { ServiceProcess } from './service-process.js';
import { type Environment, findJava } from './toolchain.js';

const JARS: JarSet = {
  name: 'kafka',
  version: '4.1.1',
  // The broker's jars come without a place for its log to go to: slf4j-simple writes it to standard error.
  artifacts: ['org.apache.kafka:kafka_2.13:4.1.1', 'org.slf4j:slf4j-simple:1.7.36'],
};
const HOST = '127.0.0.1';
const READY = /Kafka Server started/;
const START_TIMEOUT_MS = 60_000;
const HEAP_MB_DEFAULT = 512;
// 16 bytes in base64, always the same: a broker started again on its data must have its former one, and a random one may
// begin with "-", which the formatter takes for an option.
const CLUSTER_ID = 'bWFpbGpvaW4tZGV2LTAwMQ';
// The working folder takes temporary files too, so that they go with it.
// A formatted folder is left as it is. exec: the broker keeps the shell's pid, which is the one that we know.
const FORMAT_THEN_RUN = `
jars=$1 cluster=$2 properties=$3 heap=$4
shift 4
"$0" -Xmx128m -cp "$jars" kafka.tools.StorageTool format --ignore-formatted -t "$cluster" -c "$properties" "$@" || exit
exec "$0" "$heap" -Djava.io.tmpdir=. -XX:-UsePerfData -cp "$jars" kafka.Kafka "$properties"
`;

export interface KafkaOptions {
  /** Kept after stop(); without it a temporary folder is used and removed. */
  readonly dataDir?: string;
  readonly heapMb?: number;
  /** Fixed ports; free ones are chosen otherwise. A broker restarted on its data needs its former ports. */
  readonly ports?: { readonly broker: number; readonly controller: number };
  /** Lines of server.properties that go before ours, such as listeners with TLS. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Users that can authenticate by SCRAM, each as StorageTool's --add-scram takes it. */
  readonly scramUsers?: readonly string[];
  readonly timeoutMs?: number;
  readonly environment?: Environment;
  readonly onProgress?: (text: string) => void;
}

export interface Kafka {
  /** host:port for bootstrap.servers. */
  readonly contactPoint: string;
  readonly pid: number;
  readonly logPath: string;
  /** SIGKILL, as a crash would; stop() is still needed. */
  kill(): void;
  /** Ends the server and removes temporary data; may be called again. */
  stop(): Promise<void>;
}

export function startKafka(options: KafkaOptions = {}): Promise<Kafka> {
  return codedStart('Kafka', () => start(options));
}

async function start(options: KafkaOptions): Promise<Kafka> {
  const environment = options.environment ?? process.env;
  const onProgress = options.onProgress ?? (() => {});
  const java = await findJava(environment);
  const jars = await resolveJars(JARS, environment, onProgress);
  const [broker = 0, controller = 0] =
    options.ports === undefined
      ? await freePorts(2, [HOST])
      : [options.ports.broker, options.ports.controller];
  const temporary =
    options.dataDir === undefined ? await mkdtemp(join(tmpdir(), 'mailjoin-kafka-')) : undefined;
  const folder = temporary === undefined ? resolve(options.dataDir as string) : join(temporary, 'node-1');
  await mkdir(folder, { recursive: true });
  const properties = join(folder, 'server.properties');
  await writeFile(properties, serverProperties(folder, broker, controller, options.properties));
  const startedAtMs = Date.now();
  onProgress(`starting Kafka ${JARS.version}`);
  const service = await ServiceProcess.start({
    name: 'Kafka',
    program: '/bin/sh',
    args: [
      '-c',
      FORMAT_THEN_RUN,
      java,
      jars.join(delimiter),
      CLUSTER_ID,
      properties,
      `-Xmx${options.heapMb ?? HEAP_MB_DEFAULT}m`,
      ...(options.scramUsers ?? []).flatMap((user) => ['--add-scram', user]),
    ],
    environment,
    workingFolder: folder,
    logPath: join(folder, 'kafka.log'),
    temporaryFolder: temporary === undefined ? undefined : folder,
  });
  try {
    await service.readyWhenLogged(READY, options.timeoutMs ?? START_TIMEOUT_MS);
    await service.readyWhenListening(HOST, broker, options.timeoutMs ?? START_TIMEOUT_MS);
  } catch (error) {
    await service.stop();
    throw error;
  }
  onProgress(`Kafka listens after ${((Date.now() - startedAtMs) / 1000).toFixed(1)} s`);
  return {
    contactPoint: `${HOST}:${broker}`,
    pid: service.pid,
    logPath: service.logPath,
    kill: () => service.kill(),
    stop: () => service.stop(),
  };
}

/** One node that is broker and controller, with one replica of its own topics. */
function serverProperties(
  folder: string,
  broker: number,
  controller: number,
  further: Readonly<Record<string, string>> = {},
): string {
  // Of a name that comes twice the last line counts.
  const lines = Object.entries(further).map(([name, value]) => `${name}=${value}\n`);
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@${HOST}:${controller}
listeners=PLAINTEXT://${HOST}:${broker},CONTROLLER://${HOST}:${controller}
advertised.listeners=PLAINTEXT://${HOST}:${broker}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=${folder}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
${lines.join('')}`;
}
