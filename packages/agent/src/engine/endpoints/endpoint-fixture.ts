/** Test fixture: an engine whose connectors call a local API, with a profile of it. */
import { join } from 'node:path';
import { parseEgressAllow } from '@headgate/contract/egress';
import { Secret } from '@headgate/contract/without-schemas';
import { type Answer, type FakeApi, startFakeApi } from '../../../testing/fake-api.ts';
import {
  type Connectors,
  type ConnectorUse,
  createConnectors,
  type OpenedEndpoint,
} from '../../connectors/connectors.ts';
import { createRunConnectors } from '../../pool/run-connectors.ts';
import { Masking } from '../../secrets/masking.ts';
import type { ArtifactFiles } from '../ports/ports.ts';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { renderOrchestration, start } from '../run/pipeline-fixture.ts';

export interface EndpointFixture extends Fixture {
  api: FakeApi;
  connectors: Connectors;
  /** Publishes a profile `flex-api` with one endpoint, `Rows`, at `/rows`. */
  publishProfile(endpoint?: object, name?: string): Promise<void>;
  /** Runs one component, `Load`, of the newer type. `members`: beside its parameters. */
  load(
    input?: object,
    output?: object,
    more?: object,
    members?: object,
  ): Promise<{ status: string; message?: string }>;
}

/** No time passes while it waits. */
const patientTime = {
  now: () => performance.now(),
  sleep: async () => undefined,
  timeout: (milliseconds: number) => AbortSignal.timeout(milliseconds),
  random: () => 0,
};

export async function createEndpointFixture(
  by?: Answer,
  options: Partial<Parameters<typeof createConnectors>[0]> = {},
): Promise<EndpointFixture> {
  const api = await startFakeApi(by);
  const connectors = createConnectors({
    controlPlane: { connectorOauth: refuse, connectorOauthProblem: refuse },
    instanceId: '00000000-0000-4000-8000-000000000001',
    vaults: { find: () => undefined },
    allow: parseEgressAllow(['127.0.0.0/8']),
    time: patientTime,
    ...options,
  });
  const fixture: Fixture = await createFixture(undefined, (folder) =>
    openEndpoints(connectors, folder, () => fixture),
  );
  let published = 0;
  return {
    ...fixture,
    api,
    connectors,
    publishProfile: (endpoint = {}, name = 'flex-api') =>
      fixture.publish({ [`connector-profile:${name}.json`]: JSON.stringify(renderProfile(api, endpoint)) }),
    async load(input = {}, output = {}, more = {}, members = {}) {
      published += 1;
      const load = {
        type: 'modular-api-extract-input-v2',
        ...members,
        parameters: {
          componentName: 'Load',
          'api-extract-input-v2': {
            profile: 'flex-api',
            endpoint: 'Rows',
            loadSelectedData: 'Yes',
            ...input,
          },
          'snowflake-output-connector-v0': {
            tableName: 'loaded',
            createTableMode: 'REPLACE_IF_EXISTS',
            ...output,
          },
          ...more,
        },
      };
      const name = `load-${published}`;
      await fixture.publish({
        [`${name}.orch.yaml`]: renderOrchestration({ Start: start('Load'), Load: load }),
      });
      const outcome = await fixture.run(name);
      const step = [...fixture.steps.values()].findLast((each) => each.name === 'Load');
      return { status: outcome.status, message: outcome.message ?? step?.message ?? '' };
    },
    dispose() {
      fixture.dispose();
      void api.close();
    },
  };
}

const refuse = () => Promise.reject(new Error('there is no OAuth configuration'));

function renderProfile({ origin }: FakeApi, endpoint: object): object {
  const rows = { id: 'rows', name: 'Rows', url: `${origin}/rows`, httpMethod: 'GET', auth: 'NONE' };
  const structure = { schema: null, containedInOuterArray: false, repeatingElementPath: ['data'] };
  return { name: 'The API', endpoints: [{ ...rows, paging: { type: 'none' }, structure, ...endpoint }] };
}

/** A run reads a profile once, so each call is one of its own run here. */
function openEndpoints(
  connectors: Connectors,
  folder: string,
  getFixture: () => Fixture,
): ArtifactFiles['openEndpoint'] {
  const never = new AbortController().signal;
  const masking = new Masking();
  const use: ConnectorUse = {
    work: { workId: '', epoch: 1 },
    projectId: 'p',
    environmentName: 'e',
    readCloudSecret: () => Promise.reject(new Error('not in these tests')),
    async readSecret(name) {
      const value = getFixture().secrets.get(name);
      if (value === undefined) throw new Error(`there is no secret reference "${name}"`);
      const secret = new Secret(value);
      masking.add(secret);
      return secret;
    },
    onToken: (token) => masking.addToken(token),
    conceal: (text) => masking.conceal(text),
    signal: never,
  };
  return async (request) => {
    const openEndpoint = (opened: OpenedEndpoint) => connectors.open(opened, use);
    const run = createRunConnectors({ kill: never, openEndpoint }, (_, path) => join(folder, path));
    const call = await run.open({ ...request, artifact: 0 });
    return {
      fetch: (page, limit = never) => run.fetch({ call, page }, limit),
      close: async () => run.close(call),
    };
  };
}
