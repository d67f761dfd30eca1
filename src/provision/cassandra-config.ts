/**
 * What a Cassandra node of ours is started with: its two configuration files and its JVM arguments. Pure text.
 * The --add-opens list is what Cassandra 5.0 needs on Java 17; the ring and gossip settings cut a start to seconds,
 * which only suits clusters that a development machine starts for itself.
 */
import { delimiter } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface NodeSettings {
  /** Holds the configuration, the log and, below it, the data. */
  readonly folder: string;
  readonly host: string;
  readonly nativePort: number;
  readonly storagePort: number;
  readonly seedHost: string;
  /** Fixed token, for clusters of several nodes; undefined lets the node choose. */
  readonly initialToken: string | undefined;
  readonly heapMb: number;
  /** Further lines of cassandra.yaml. */
  readonly yaml: readonly string[];
}

/** Evenly spread tokens of the Murmur3 ring, whose range is −2^63 … 2^63 − 1. */
export function evenTokens(count: number): readonly string[] {
  const ring = 1n << 64n;
  return Array.from({ length: count }, (_, index) =>
    String((ring * BigInt(index)) / BigInt(count) - (1n << 63n)),
  );
}

/** cassandra.yaml; JSON strings are valid YAML scalars, so paths need no other quoting. */
export function cassandraYaml(node: NodeSettings): string {
  const folder = (name: string) => JSON.stringify(`${node.folder}/${name}`);
  const lines = [
    'cluster_name: mailjoin',
    'num_tokens: 1',
    'partitioner: org.apache.cassandra.dht.Murmur3Partitioner',
    'endpoint_snitch: SimpleSnitch',
    `data_file_directories: [${folder('data')}]`,
    `commitlog_directory: ${folder('commitlog')}`,
    `saved_caches_directory: ${folder('saved_caches')}`,
    `hints_directory: ${folder('hints')}`,
    `cdc_raw_directory: ${folder('cdc_raw')}`,
    'commitlog_sync: periodic',
    'commitlog_sync_period: 10s',
    'auto_snapshot: false',
    `listen_address: ${node.host}`,
    `rpc_address: ${node.host}`,
    `native_transport_port: ${node.nativePort}`,
    `storage_port: ${node.storagePort}`,
    'seed_provider:',
    '  - class_name: org.apache.cassandra.locator.SimpleSeedProvider',
    `    parameters: [{ seeds: "${node.seedHost}:${node.storagePort}" }]`,
  ];
  if (node.initialToken !== undefined) {
    lines.push(`initial_token: ${node.initialToken}`, 'auto_bootstrap: false');
  }
  lines.push(...node.yaml);
  return `${lines.join('\n')}\n`;
}

/** logback.xml: everything from INFO up to standard output, which is the log file. */
export function logbackXml(): string {
  return `<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %d{ISO8601} [%thread] %logger{36} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
`;
}

const OPENED: Readonly<Record<string, readonly string[]>> = {
  'java.base': [
    'java.io',
    'java.nio',
    'java.util',
    'java.util.concurrent',
    'java.util.concurrent.atomic',
    'java.lang',
    'java.lang.module',
    'java.lang.reflect',
    'java.math',
    'java.net',
    'sun.nio.ch',
    'jdk.internal.ref',
    'jdk.internal.reflect',
    'jdk.internal.math',
    'jdk.internal.module',
    'jdk.internal.util.jar',
    'jdk.internal.loader',
    'jdk.internal.misc',
    'jdk.internal.perf',
  ],
  'java.rmi': ['sun.rmi.transport', 'sun.rmi.transport.tcp', 'sun.rmi.registry', 'sun.rmi.server'],
  'java.management.rmi': ['com.sun.jmx.remote.internal.rmi'],
  'jdk.management': ['com.sun.management.internal'],
  'jdk.compiler': ['com.sun.tools.javac.file'],
  'jdk.attach': ['sun.tools.attach'],
};

/** Arguments of java, class path and main class included. */
export function javaArguments(node: NodeSettings, jars: readonly string[]): string[] {
  const opened = Object.entries(OPENED).flatMap(([module, packages]) =>
    packages.flatMap((name) => [
      '--add-opens',
      `${module}/${name}=ALL-UNNAMED`,
      '--add-exports',
      `${module}/${name}=ALL-UNNAMED`,
    ]),
  );
  return [
    `-Xms${Math.ceil(node.heapMb / 2)}m`,
    `-Xmx${node.heapMb}m`,
    '-XX:+UseG1GC',
    '-XX:-UsePerfData',
    // Native libraries are unpacked here, so that they go with the folder.
    `-Djava.io.tmpdir=${node.folder}`,
    '-Djdk.attach.allowAttachSelf=true',
    '-Djava.awt.headless=true',
    '-Dcassandra-foreground=yes',
    `-Dcassandra.storagedir=${node.folder}`,
    `-Dcassandra.config=${pathToFileURL(`${node.folder}/cassandra.yaml`).href}`,
    `-Dlogback.configurationFile=${node.folder}/logback.xml`,
    '-Dcassandra.ring_delay_ms=100',
    '-Dcassandra.skip_wait_for_gossip_to_settle=0',
    '-Dcassandra.superuser_setup_delay_ms=0',
    ...opened,
    '-cp',
    [node.folder, ...jars].join(delimiter),
    'org.apache.cassandra.service.CassandraDaemon',
  ];
}
