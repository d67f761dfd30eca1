// What a node is started with: tokens, paths and addresses as Cassandra reads them.
import { describe, expect, it } from 'vitest';
import {
  cassandraYaml,
  evenTokens,
  javaArguments,
  type NodeSettings,
} from '../../src/provision/cassandra-config.js';

const NODE: NodeSettings = {
  folder: '/data/with space/node-1',
  host: '127.0.0.2',
  nativePort: 20_001,
  storagePort: 20_002,
  seedHost: '127.0.0.1',
  initialToken: undefined,
  heapMb: 512,
  yaml: [],
};

describe('evenTokens', () => {
  it('splits the Murmur3 ring evenly, from its lowest token', () => {
    expect(evenTokens(1)).toEqual(['-9223372036854775808']);
    expect(evenTokens(3)).toEqual(['-9223372036854775808', '-3074457345618258603', '3074457345618258602']);
  });
});

describe('cassandraYaml', () => {
  it('quotes paths, and leaves the token out where there is none', () => {
    const yaml = cassandraYaml(NODE);
    expect(yaml).toContain('data_file_directories: ["/data/with space/node-1/data"]');
    expect(yaml).toContain('rpc_address: 127.0.0.2\nnative_transport_port: 20001\nstorage_port: 20002');
    expect(yaml).toContain('seeds: "127.0.0.1:20002"');
    expect(yaml).not.toContain('initial_token');
  });

  it('fixes the token of a node of several, which then takes no data from others at its start', () => {
    expect(cassandraYaml({ ...NODE, initialToken: '-5' })).toContain(
      'initial_token: -5\nauto_bootstrap: false',
    );
  });
});

describe('javaArguments', () => {
  it('names the configuration as a URL, and puts the folder with logback.xml before the jars', () => {
    const args = javaArguments(NODE, ['/jars/a.jar', '/jars/b.jar']);
    expect(args).toContain('-Dcassandra.config=file:///data/with%20space/node-1/cassandra.yaml');
    expect(args).toContain('-Xmx512m');
    expect(args.slice(-3)).toEqual([
      '-cp',
      '/data/with space/node-1:/jars/a.jar:/jars/b.jar',
      'org.apache.cassandra.service.CassandraDaemon',
    ]);
  });
});
