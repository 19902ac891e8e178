/** What every adapter does, against a fake of its provider. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { Secret } from '@headgate/contract';
import { fakeAzureDevOps } from '../../../testing/git-providers/fake-azure-devops.ts';
import { fakeGithub } from '../../../testing/git-providers/fake-github.ts';
import { fakeGitlab } from '../../../testing/git-providers/fake-gitlab.ts';
import {
  type Dialect,
  type FakeProvider,
  startFakeProvider,
} from '../../../testing/git-providers/fake-provider.ts';
import type { GitProvider, HookReading, ProviderCall } from './git-provider.ts';
import { ProviderRefused } from './git-provider.ts';
import { providerAdapters } from './provider-adapters.ts';

const commit = (digit: string, message: string) => ({ id: digit.repeat(40), message });
const secret = new Secret('whsec_c2VjcmV0IG9mIHRoaXMgaG9vaw==');
const now = new Date('2026-01-05T10:00:00Z');

/** Calls the fake as the server does, without its guard. */
function createCall(fake: FakeProvider, provider: GitProvider, token: Secret): ProviderCall {
  const baseUrl = provider.findInterface(fake.cloneUrl, fake.addresses);
  assert.ok(baseUrl);
  const shown = token.reveal();
  const authorization =
    provider.tokenScheme(token) === 'bearer'
      ? `Bearer ${shown}`
      : `Basic ${Buffer.from(`:${shown}`).toString('base64')}`;
  return {
    baseUrl,
    repository: { cloneUrl: fake.cloneUrl, parameters: provider.readParameters(fake.cloneUrl) },
    async send({ method, url, headers, body }) {
      assert.ok(url.startsWith(fake.url), `${url} is not below ${fake.url}`);
      // fetch would add a User-Agent.
      const query = request(url, { method, headers: { ...headers, authorization } });
      query.end(body);
      const [answer] = (await once(query, 'response')) as [IncomingMessage];
      return {
        status: answer.statusCode ?? 0,
        headers: answer.headers as Record<string, string>,
        body: await text(answer),
      };
    },
  };
}

for (const dialect of [fakeGithub, fakeGitlab, fakeAzureDevOps]) {
  describe(`the adapter of ${dialect.name}`, () => checkAdapter(dialect));
}

describe('what GitHub says', () => {
  const github = providerAdapters.github;
  const codeOf = (words: string) => github.explainFailure({ text: words }).code;

  it('of an installation’s rights is not believed', async (t) => {
    const fake = await startFakeProvider(fakeGithub);
    t.after(() => fake.close());
    const described = await github.describeRepository(
      createCall(fake, github, fake.addToken('write', 'active', true)),
    );
    assert.equal(described.canPush, undefined);
    assert.deepEqual(described.findings, []);
  });

  it('of workflows, secrets and rules names the remedy', () => {
    const workflow =
      'refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission';
    assert.equal(codeOf(workflow), 'role-too-low');
    assert.match(github.explainFailure({ text: workflow }).remedy, /Workflows: read and write/);
    const secrets =
      'remote: error: GH013: Repository rule violations found for refs/heads/main.\nremote: - GITHUB PUSH PROTECTION\nremote:   - Push cannot contain secrets';
    assert.equal(codeOf(secrets), 'hook-declined');
    assert.equal(
      codeOf('remote: error: GH013: Repository rule violations found for refs/heads/main.'),
      'protected-branch',
    );
  });
});

function checkAdapter(dialect: Dialect): void {
  const provider = providerAdapters[dialect.name];
  let fake: FakeProvider;
  before(async () => {
    fake = await startFakeProvider(dialect);
  });
  after(() => fake.close());

  const describeAs = (role: 'none' | 'read' | 'write' | 'admin', state?: 'expired') =>
    provider.describeRepository(createCall(fake, provider, fake.addToken(role, state)));
  const codes = (found: Awaited<ReturnType<typeof describeAs>>) => found.findings.map(({ code }) => code);
  const reset = () => Object.assign(fake.repository, { isArchived: false, branches: [], statuses: [] });

  it('describes an empty repository', async () => {
    reset();
    const found = await describeAs('admin');
    assert.deepEqual(
      { ...found },
      {
        defaultBranch: undefined,
        isEmptyOrInitialCommit: true,
        isArchived: false,
        canRead: true,
        canPush: true,
        canForcePush: true,
        protectedBranches: [],
        findings: [],
      },
    );
  });

  it('tells the first commit of the provider from work', async () => {
    reset();
    fake.repository.branches = [{ name: 'main', commits: [commit('1', 'Initial commit')] }];
    const initial = await describeAs('admin');
    assert.equal(initial.isEmptyOrInitialCommit, true);
    assert.equal(initial.defaultBranch, 'main');
    fake.repository.branches = [
      { name: 'main', commits: [commit('1', 'Initial commit'), commit('2', 'Work')] },
    ];
    assert.deepEqual(codes(await describeAs('admin')), ['repository-not-empty']);
    fake.repository.branches = [{ name: 'main', commits: [commit('1', 'First pipelines')] }];
    assert.deepEqual(codes(await describeAs('admin')), ['repository-not-empty']);
  });

  it('finds what stands against a push', async () => {
    reset();
    assert.equal((await describeAs('read')).canPush, false);
    assert.ok(codes(await describeAs('read')).includes('role-too-low'));
    fake.repository.isArchived = true;
    const archived = await describeAs('admin');
    assert.equal(archived.isArchived, true);
    assert.ok(codes(archived).includes('repository-archived'));
    fake.repository.isArchived = false;
    fake.repository.branches = [
      {
        name: 'main',
        commits: [commit('1', 'Initial commit')],
        protection: { allowsForcePush: false, push: 'write' },
      },
    ];
    const found = await describeAs('admin');
    assert.deepEqual(found.protectedBranches, [{ name: 'main', allowsForcePush: false }]);
    assert.ok(
      found.findings.some(({ code }) => code === 'force-push-forbidden' || code === 'protected-branch'),
    );
    for (const { detail, remedy } of found.findings) assert.match(`${detail} ${remedy}`, /^[A-Z].*\.$/);
  });

  it('says why it cannot see a repository', async () => {
    reset();
    const hidden = await describeAs('none');
    assert.equal(hidden.canRead, false);
    assert.deepEqual(codes(hidden), ['repository-not-found']);
    const unknown = await provider.describeRepository(
      createCall(fake, provider, new Secret(`${dialect.tokenPrefix}nobody`)),
    );
    assert.deepEqual(codes(unknown), ['token-rejected']);
    const [expired] = codes(await describeAs('admin', 'expired'));
    assert.match(String(expired), /^token-(expired|rejected)$/);
  });

  it('names an address that no repository of the provider has', async () => {
    const call = createCall(fake, provider, new Secret('x'));
    const repository = { cloneUrl: 'https://git.example.com/etl.git', parameters: {} };
    const { canRead, findings } = await provider.describeRepository({ ...call, repository });
    assert.equal(canRead, false);
    const [{ code, detail, remedy } = assert.fail('no finding')] = findings;
    assert.equal(code, 'repository-not-found');
    assert.match(
      `${detail} ${remedy}`,
      /has the path "\/etl\.git", which does not name .* Use an address like/,
    );
  });

  it('tells how long to wait when it calls too often', async () => {
    reset();
    fake.limitNext = 1;
    const [finding] = (await describeAs('admin')).findings;
    assert.equal(finding?.code, 'rate-limited');
    assert.equal(finding?.retryAfterSeconds, 42);
  });

  it('does not read a page as an answer', async () => {
    fake.isBroken = true;
    const found = await describeAs('admin');
    fake.isBroken = false;
    assert.deepEqual(codes(found), ['provider-failed']);
  });

  it('sets the status of a commit', async () => {
    reset();
    const id = 'a'.repeat(40);
    const status = {
      commit: id,
      state: 'failure',
      description: `2 errors: ${'x'.repeat(600)}`,
      targetUrl: 'https://headgate.example/findings',
      context: 'headgate/pipelines',
    } as const;
    const call = createCall(fake, provider, fake.addToken('write'));
    await provider.setCommitStatus?.(call, status);
    const [sent] = fake.repository.statuses;
    assert.equal(sent?.commit, id);
    assert.match(String(sent?.state), /^fail/);
    assert.match(String(sent?.description), /^2 errors: x+…$/);
    assert.equal(sent?.targetUrl, status.targetUrl);
    assert.equal(sent?.context, status.context);
    // The same status again, as after a crash.
    await provider.setCommitStatus?.(call, status);
    await assert.rejects(
      async () => provider.setCommitStatus?.(createCall(fake, provider, fake.addToken('read')), status),
      (failure) => failure instanceof ProviderRefused && failure.finding.code === 'role-too-low',
    );
  });

  it('shows no token in what it says', async () => {
    const token = fake.addToken('admin', 'expired');
    const found = await provider.describeRepository(createCall(fake, provider, token));
    assert.ok(!JSON.stringify(found).includes(token.reveal()));
    const finding = provider.explainFailure({
      status: 403,
      text: `remote: https://x:${token.reveal()}@host/ denied; Authorization: Basic ${'c2VjcmV0c2VjcmV0'}`,
    });
    assert.ok(!finding.detail.includes(token.reveal()) && !finding.detail.includes('c2VjcmV0'));
  });

  type Event = Parameters<Dialect['buildHook']>[0]['event'];
  function readHook(
    event: Event,
    change: { by?: Secret; at?: Date; headers?: Record<string, string | undefined>; body?: string } = {},
  ): HookReading {
    const built = dialect.buildHook({
      secret: change.by ?? secret,
      event,
      branch: 'feature/é',
      commit: 'b'.repeat(40),
      deliveryId: 'd1',
      at: change.at ?? now,
    });
    const reading = provider.readHook?.({
      headers: { ...built.headers, ...change.headers },
      body: Buffer.from(change.body ?? built.body),
      secret,
      now,
    });
    assert.ok(reading);
    return reading;
  }

  it('reads hooks of pushes and reviews', () => {
    const push = readHook('push');
    assert.equal(push.kind, 'push');
    assert.ok(push.kind === 'push' && push.deliveryIds.includes('d1'));
    assert.deepEqual(push.branches, ['feature/é']);
    const review = readHook('review');
    assert.ok(review.kind === 'review' && review.branch === 'feature/é');
    for (const event of ['tag', 'fork', 'other'] as const)
      assert.equal(readHook(event).kind, 'ignored', event);
  });

  it('refuses hooks that prove nothing', () => {
    const code = (reading: HookReading) => (reading.kind === 'refused' ? reading.code : reading.kind);
    assert.equal(code(readHook('push', { by: new Secret('another secret') })), 'wrong-hook-secret');
    const none = { 'x-hub-signature-256': undefined, 'x-gitlab-token': undefined, authorization: undefined };
    assert.equal(code(readHook('push', { headers: none })), 'unsigned-hook');
    const body = dialect.name === 'github' ? 'wrong-hook-secret' : 'invalid-hook';
    for (const text of ['', '[]', 'null', '{"a":', '\u0000'])
      assert.equal(code(readHook('push', { body: text })), body, JSON.stringify(text));
    const old = new Date(now.getTime() - 4 * 86_400_000);
    assert.equal(code(readHook('review', { at: old })), 'hook-too-old');
  });
}

describe('GitLab', () => {
  it('rotates a token, and revokes the family if an old one is rotated again', async () => {
    const fake = await startFakeProvider(fakeGitlab);
    try {
      const provider = providerAdapters.gitlab;
      const first = fake.addToken('admin');
      const until = new Date('2026-12-31T00:00:00Z');
      const second = await provider.rotateToken?.(createCall(fake, provider, first), until);
      assert.ok(second);
      assert.equal(second.expiresAt?.toISOString(), until.toISOString());
      const describe = () => provider.describeRepository(createCall(fake, provider, second.token));
      assert.equal((await describe()).canRead, true);
      await assert.rejects(
        async () => provider.rotateToken?.(createCall(fake, provider, first), until),
        (failure) => failure instanceof ProviderRefused && failure.finding.code === 'token-reused',
      );
      assert.equal((await describe()).canRead, false);
    } finally {
      await fake.close();
    }
  });

  it('reads hooks that are signed by Standard Webhooks', () => {
    const built = fakeGitlab.buildHook({
      secret,
      event: 'push',
      branch: 'main',
      commit: 'b'.repeat(40),
      deliveryId: 'd1',
      at: now,
    });
    const signedAt = (at: Date) => {
      const timestamp = String(at.getTime() / 1_000);
      const signed = createHmac('sha256', 'secret of this hook').update(`w1.${timestamp}.${built.body}`);
      return {
        ...built.headers,
        'x-gitlab-token': undefined,
        'webhook-id': 'w1',
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,d3Jvbmc= v1,${signed.digest('base64')}`,
      };
    };
    const read = (at: Date) =>
      providerAdapters.gitlab.readHook?.({
        headers: signedAt(at),
        body: Buffer.from(built.body),
        secret,
        now,
      });
    assert.deepEqual(read(now), { kind: 'push', deliveryIds: ['w1'], branches: ['main'] });
    const old = read(new Date(now.getTime() - 600_000));
    assert.ok(old?.kind === 'refused' && old.code === 'hook-too-old');
  });
});
