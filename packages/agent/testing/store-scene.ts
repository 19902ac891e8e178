/** Runs of pipelines with object stores, in this process. */
import { parseEgressAllow } from '@headgate/contract/egress';
import { Secret } from '@headgate/contract/without-schemas';
import { type ConnectorBounds, createConnectors } from '../src/connectors/connectors.ts';
import type { RunRequest, Warehouse } from '../src/engine/ports/ports.ts';
import { createFixture, type Fixture } from '../src/engine/run/engine-fixture.ts';
import { renderOrchestration, start } from '../src/engine/run/pipeline-fixture.ts';
import { realTime } from '../src/time.ts';

export interface StoreScene extends Fixture {
  /** Runs one component. */
  component(
    type: string,
    parameters: Readonly<Record<string, unknown>>,
  ): Promise<{
    status: string;
    message: string;
    rowCount: number | undefined;
    byteCount: number | undefined;
  }>;
  /** Values that are masked. */
  masked: string[];
}

const refuse = () => Promise.reject(new Error('not in these tests'));

/** @param clouds the secrets of the project's connections to clouds. No time passes in pauses. */
export async function openStoreScene({
  secrets = {},
  clouds = {},
  bounds = {},
  allow = ['127.0.0.0/8'],
  served,
}: {
  secrets?: Readonly<Record<string, unknown>>;
  clouds?: Readonly<Record<string, unknown>>;
  bounds?: Partial<ConnectorBounds>;
  allow?: string[];
  /** The warehouse of the project, in place of the embedded one. */
  served?: { warehouse: Warehouse; request: Partial<RunRequest> };
} = {}): Promise<StoreScene> {
  const masked: string[] = [];
  const find = (values: Readonly<Record<string, unknown>>, name: string) => {
    if (values[name] === undefined) throw new Error(`there is no secret "${name}"`);
    const value = values[name];
    return new Secret(typeof value === 'string' ? value : JSON.stringify(value));
  };
  const connectors = createConnectors({
    controlPlane: { connectorOauth: refuse, connectorOauthProblem: refuse },
    instanceId: '00000000-0000-4000-8000-000000000001',
    vaults: { find: () => undefined },
    allow: parseEgressAllow(allow),
    bounds,
    time: { ...realTime, sleep: async () => undefined },
  });
  const use = {
    work: { workId: '', epoch: 1 },
    projectId: '',
    environmentName: 'dev',
    readSecret: async (name: string) => find(secrets, name),
    readCloudSecret: async (cloud: string) => find(clouds, cloud),
    onToken: (token: Secret) => void masked.push(token.reveal()),
    conceal: (text: string) => text,
    signal: new AbortController().signal,
  };
  const fixture = await createFixture(undefined, undefined, connectors.download, served?.warehouse, {
    open: (address) => connectors.openStore(address, use),
    fetch: (options) => connectors.fetchObject(options, 'p'),
    convert: (request, signal) => connectors.convertFile(request, 'p', signal),
  });
  return Object.assign(fixture, {
    masked,
    async component(type: string, parameters: Readonly<Record<string, unknown>>) {
      await fixture.publish({
        'p.orch.yaml': renderOrchestration({ Start: start('It'), It: { type, parameters } }),
      });
      const outcome = await fixture.run('p', served?.request);
      const step = [...fixture.steps.values()].findLast(({ name }) => name === 'It');
      return {
        status: outcome.status,
        message: outcome.message ?? step?.message ?? '',
        rowCount: step?.rowCount,
        byteCount: step?.byteCount,
      };
    },
  });
}
