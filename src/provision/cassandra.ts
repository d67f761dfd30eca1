/**
 * Starts a real Apache Cassandra on this machine, one node or several, for `demo --store cql`, benches and tests.
 *
 * Needs Java 17, and Maven the first time. Nodes listen on 127.0.0.1, .2, .3 … with the same ports. Without a data
 * folder everything lies in a temporary one that goes with the last node, also when this process is killed.
 * Failure: JAVA_MISSING, or SERVICE_START with the end of the log; nothing started stays behind.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { MailjoinError } from '../domain/errors.js';
import {
  cassandraYaml,
  evenTokens,
  javaArguments,
  logbackXml,
  type NodeSettings,
} from './cassandra-config.js';
import { codedStart } from './coded-start.js';
import { freePorts } from './free-ports.js';
import { type JarSet, resolveJars } from './jar-cache.js';
import { ServiceProcess } from './service-process.js';
import { type Environment, findJava } from './toolchain.js';

const JARS: JarSet = {
  name: 'cassandra',
  version: '5.0.8',
  artifacts: ['org.apache.cassandra:cassandra-all:5.0.8'],
};
/** The data centre's name under SimpleSnitch. */
const DATA_CENTER = 'datacenter1';
const READY = /Starting listening for CQL clients/;
const PORT_TAKEN = /Address already in use|BindException|is in use by another process/;
const START_TIMEOUT_MS = 180_000;
const HEAP_MB_SINGLE = 1_024;
const HEAP_MB_CLUSTERED = 512;
const NODES_MAX = 8;
const PORT_ATTEMPTS_MAX = 3;

export interface CassandraOptions {
  /** Kept after stop(); without it a temporary folder is used and removed. */
  readonly dataDir?: string;
  readonly heapMb?: number;
  readonly nodes?: number;
  /** Further lines of cassandra.yaml, such as client_encryption_options. */
  readonly yaml?: readonly string[];
  /** Fixed ports; free ones are chosen otherwise. */
  readonly ports?: { readonly native: number; readonly storage: number };
  /** How long all nodes together may take to become ready, without the fetching of jars. */
  readonly timeoutMs?: number;
  readonly environment?: Environment;
  readonly onProgress?: (text: string) => void;
}

export interface CassandraNode {
  readonly host: string;
  readonly pid: number;
  readonly logPath: string;
  /** SIGKILL, as a crash would; the other nodes go on. */
  kill(): void;
}

export interface Cassandra {
  /** host:port of the first node. */
  readonly contactPoint: string;
  readonly contactPoints: readonly string[];
  readonly localDataCenter: string;
  /** Of the first node. */
  readonly pid: number;
  readonly logPath: string;
  readonly nodes: readonly CassandraNode[];
  /** Ends every node and removes temporary data; may be called again. */
  stop(): Promise<void>;
}

export async function startCassandra(options: CassandraOptions = {}): Promise<Cassandra> {
  const count = options.nodes ?? 1;
  if (!Number.isInteger(count) || count < 1 || count > NODES_MAX) {
    throw new MailjoinError('CONFIG_INVALID', `nodes is ${count}, but must be 1 to ${NODES_MAX}`);
  }
  return codedStart('Cassandra', () => start(count, options));
}

async function start(count: number, options: CassandraOptions): Promise<Cassandra> {
  const environment = options.environment ?? process.env;
  const onProgress = options.onProgress ?? (() => {});
  const java = await findJava(environment);
  const jars = await resolveJars(JARS, environment, onProgress);
  for (let attempt = 1; ; attempt++) {
    try {
      return await startNodes(count, java, jars, environment, onProgress, options);
    } catch (error) {
      const taken = error instanceof MailjoinError && PORT_TAKEN.test(error.message);
      if (!taken || options.ports !== undefined || attempt === PORT_ATTEMPTS_MAX) throw error;
      onProgress('a port was taken meanwhile; starting again with others');
    }
  }
}

async function startNodes(
  count: number,
  java: string,
  jars: readonly string[],
  environment: Environment,
  onProgress: (text: string) => void,
  options: CassandraOptions,
): Promise<Cassandra> {
  const hosts = Array.from({ length: count }, (_, index) => `127.0.0.${index + 1}`);
  const [native = 0, storage = 0] =
    options.ports === undefined ? await freePorts(2, hosts) : [options.ports.native, options.ports.storage];
  const temporary =
    options.dataDir === undefined ? await mkdtemp(join(tmpdir(), 'mailjoin-cassandra-')) : undefined;
  const root = temporary ?? resolve(options.dataDir as string);
  const tokens = evenTokens(count);
  const settings = hosts.map(
    (host, index): NodeSettings => ({
      folder: join(root, `node-${index + 1}`),
      host,
      nativePort: native,
      storagePort: storage,
      seedHost: '127.0.0.1',
      initialToken: count === 1 ? undefined : tokens[index],
      heapMb: options.heapMb ?? (count === 1 ? HEAP_MB_SINGLE : HEAP_MB_CLUSTERED),
      yaml: options.yaml ?? [],
    }),
  );
  const running: ServiceProcess[] = [];
  const startedAtMs = Date.now();
  const leftMs = () => Math.max(0, startedAtMs + (options.timeoutMs ?? START_TIMEOUT_MS) - Date.now());
  const stop = async () => {
    await Promise.all(running.map((node) => node.stop()));
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
  };
  const start = async (node: NodeSettings, index: number) => {
    const service = await spawnNode(node, index, java, jars, environment, temporary !== undefined);
    running.push(service);
    await service.readyWhenLogged(READY, leftMs());
    await service.readyWhenListening(node.host, node.nativePort, leftMs());
    onProgress(`Cassandra node ${index + 1} of ${count} listens after ${secondsSince(startedAtMs)} s`);
    return { service, node };
  };
  try {
    onProgress(`starting Cassandra ${JARS.version} (${count} node${count === 1 ? '' : 's'})`);
    const [first, ...others] = settings as [NodeSettings, ...NodeSettings[]];
    // The seed first: the others join through it.
    const started = [await start(first, 0)];
    started.push(...(await Promise.all(others.map((node, index) => start(node, index + 1)))));
    return cassandraOf(started, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function spawnNode(
  node: NodeSettings,
  index: number,
  java: string,
  jars: readonly string[],
  environment: Environment,
  temporary: boolean,
): Promise<ServiceProcess> {
  await mkdir(node.folder, { recursive: true });
  await writeFile(join(node.folder, 'cassandra.yaml'), cassandraYaml(node));
  await writeFile(join(node.folder, 'logback.xml'), logbackXml());
  return ServiceProcess.start({
    name: `Cassandra node ${index + 1}`,
    program: java,
    args: javaArguments(node, jars),
    environment,
    workingFolder: node.folder,
    logPath: join(node.folder, 'cassandra.log'),
    temporaryFolder: temporary ? node.folder : undefined,
  });
}

function cassandraOf(
  started: readonly { readonly service: ServiceProcess; readonly node: NodeSettings }[],
  stop: () => Promise<void>,
): Cassandra {
  const contactPoints = started.map(({ node }) => `${node.host}:${node.nativePort}`);
  const nodes = started.map(({ service, node }) => ({
    host: node.host,
    pid: service.pid,
    logPath: service.logPath,
    kill: () => service.kill(),
  }));
  const first = nodes[0] as CassandraNode;
  return {
    contactPoint: contactPoints[0] as string,
    contactPoints,
    localDataCenter: DATA_CENTER,
    pid: first.pid,
    logPath: first.logPath,
    nodes,
    stop,
  };
}

function secondsSince(sinceMs: number): string {
  return ((Date.now() - sinceMs) / 1000).toFixed(1);
}
