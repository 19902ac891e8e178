/** A token server, a vault, and what the control plane says about an OAuth configuration. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { ConnectorOauthPlan } from '@headgate/contract';
import { Secret } from '@headgate/contract/without-schemas';
import type { SeenRequest } from '../../testing/fake-api.ts';
import { createEndpointFixture } from '../engine/endpoints/endpoint-fixture.ts';
import { createFileVault } from '../vaults/file.ts';
import { VaultError } from '../vaults/vault.ts';

export const signal = new AbortController().signal;
export const work = { workId: '00000000-0000-4000-8000-000000000002', epoch: 1 };
export const ownProject = '00000000-0000-4000-8000-0000000000aa';

/** Call it at the top of a test file. */
export async function createOauthScene() {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-oauth-'));
  const vault = createFileVault({ name: 'vault', folder, key: undefined });

  const problems: (string | null)[] = [];
  const scene = {
    plan: {} as ConnectorOauthPlan,
    vaultIsDown: false,
    lookupFault: undefined as Error | undefined,
  };
  const failingVault = {
    ...vault,
    async write(...inputs: Parameters<typeof vault.write>) {
      if (scene.vaultIsDown) throw new VaultError('unavailable', 'vault');
      return vault.write(...inputs);
    },
  };
  const fixture = await createEndpointFixture(undefined, {
    controlPlane: {
      async connectorOauth() {
        if (scene.lookupFault !== undefined) throw scene.lookupFault;
        return scene.plan;
      },
      async connectorOauthProblem({ problem }) {
        problems.push(problem);
        const { problem: _before, ...rest } = scene.plan;
        scene.plan = problem === null ? rest : { ...rest, problem };
      },
    },
    vaults: { find: () => failingVault },
  });
  after(() => {
    fixture.dispose();
    rmSync(folder, { recursive: true });
  });
  const { api } = fixture;

  const write = (name: string, members: object) =>
    vault.write({ name }, new Secret(JSON.stringify(members)), signal);
  const readStored = async (name: string) => JSON.parse((await vault.read({ name }, signal)).reveal());
  await write('client', { clientId: 'me', clientSecret: 'correct client' });

  let configurations = 0;
  function configure(members: Partial<ConnectorOauthPlan>): void {
    configurations += 1;
    scene.plan = {
      connectorOauthId: `00000000-0000-4000-8000-${String(configurations).padStart(12, '0')}`,
      projectId: ownProject,
      name: 'crm',
      grantType: 'AUTHORIZATION_CODE',
      tokenUrl: `${api.origin}/token`,
      scopes: ['read', 'list'],
      additionalParameters: { audience: 'orders' },
      clientSecret: { secretName: 'client' },
      tokens: { secretName: `tokens-${configurations}` },
      ...members,
    };
  }
  const storeTokens = (accessToken: string, refreshToken?: string) =>
    write(`tokens-${configurations}`, {
      accessToken,
      ...(refreshToken === undefined ? {} : { refreshToken }),
    });

  /** An API that takes one access token, and gives the next one for a grant. */
  function serve(
    valid: string,
    next: string,
    grant: (form: URLSearchParams, request: SeenRequest) => boolean,
  ) {
    let current = valid;
    api.requests.length = 0;
    api.answer((request, response) => {
      if (request.path === '/token') {
        if (grant(new URLSearchParams(request.body), request)) {
          current = next;
          return {
            access_token: next,
            refresh_token: `${next}-refresh`,
            expires_in: 3600,
            token_type: 'bearer',
          };
        }
        response.statusCode = 400;
        return { error: 'invalid_grant' };
      }
      if (request.headers.authorization === `Bearer ${current}`) return { data: [{ id: 1 }] };
      response.statusCode = 401;
      return {};
    });
  }

  const load = () => fixture.load({ connectionRef: { overrides: { oauth: 'crm' } } });
  const countTokenRequests = () => api.requests.filter(({ path }) => path === '/token').length;

  return {
    ...{ scene, problems, fixture, api },
    ...{ write, readStored, configure, storeTokens, serve, load, countTokenRequests },
  };
}
