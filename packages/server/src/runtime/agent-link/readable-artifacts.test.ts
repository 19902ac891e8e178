/** An agent can read the artifacts of the places in which it may run, and no others. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { ArtifactManifest } from '@headgate/contract';
import type { RegisteredAgent } from '../../../testing/account.ts';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { createExecution } from '../../../testing/executions.ts';
import { createPlace } from '../../../testing/place.ts';
import { smallPipeline, type TestProject, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { makePipelineUsing, publishShared } from '../../../testing/shared-pipelines.ts';

const server = await startTestServer();

/** An agent with restricted access and an empty allowlist. */
async function restricted() {
  const place = await createPlace(await server.account());
  const { account, agent } = place;
  const path = `/agents/${agent.agentId}`;
  await account.admin.patch(path, { restrictedAccess: true });
  const allow = (projects: Record<string, { environments?: string[] }>) =>
    account.admin.send('PUT', `${path}/allowlist`, { body: { projects } });
  return { ...place, admin: account.admin, path, allow };
}

type Restricted = Awaited<ReturnType<typeof restricted>>;

/**
 * Publishes a version with a unique file, by default in dev. Returns the digests of its manifest and of
 * that file.
 */
async function published(
  { admin }: Restricted,
  project: TestProject,
  environmentName = 'dev',
  main = smallPipeline,
) {
  const content = `notes of ${project.projectId} in ${environmentName}`;
  const versionName = `with-notes-${environmentName}`;
  const parts = [
    { name: 'main.orch.yaml', content: main },
    { name: 'notes.md', content },
  ];
  await upload(admin, project, parts, { environmentName, versionName });
  const [row] = await server.database.query<{ manifest_digest: string }>(
    'select manifest_digest from artifact_version where project_id = $1 and version_name = $2',
    [project.projectId, versionName],
  );
  return {
    manifest: row?.manifest_digest ?? assert.fail('no such version'),
    file: createHash('sha256').update(content).digest('hex'),
  };
}

type Published = Awaited<ReturnType<typeof published>>;

async function requireReadable({ client }: RegisteredAgent, { manifest, file }: Published): Promise<void> {
  const { files } = (await client.get<ArtifactManifest>(`/artifacts/${manifest}`)).body;
  assert.ok(files.some(({ sha256 }) => sha256 === file));
  assert.equal((await client.get(`/blobs/${file}`)).status, 200);
}

async function requireUnknown({ client }: RegisteredAgent, { manifest, file }: Published): Promise<void> {
  const known = await client.get(`/artifacts/${manifest}`);
  assert.match(requireProblem(known, 404, 'blob-not-found').detail, new RegExp(manifest));
  requireProblem(await client.get(`/blobs/${file}`), 404, 'blob-not-found');
}

test('a restricted agent can read only versions of the projects and environments on its allowlist', async () => {
  const at = await restricted();
  const { account, agent, project, allow } = at;
  const other = await account.project();
  const [dev, prod] = [await published(at, project), await published(at, project, 'prod')];
  const foreign = await published(at, other);
  for (const each of [dev, prod, foreign]) await requireUnknown(agent, each);
  await allow({ [project.projectId]: { environments: ['dev'] } });
  await requireReadable(agent, dev);
  for (const each of [prod, foreign]) await requireUnknown(agent, each);
  await allow({ [project.projectId]: {} });
  for (const each of [dev, prod]) await requireReadable(agent, each);
  await requireUnknown(agent, foreign);
  await allow({ [other.projectId]: {} });
  for (const each of [dev, prod]) await requireUnknown(agent, each);
  await requireReadable(agent, foreign);
});

test('an agent without restricted access can read those of its account, and no others', async () => {
  const at = await restricted();
  const { admin, path, agent, project, account } = at;
  await admin.patch(path, { restrictedAccess: false });
  for (const each of [project, await account.project()])
    await requireReadable(agent, await published(at, each));
  const elsewhere = await restricted();
  await requireUnknown(agent, await published(elsewhere, elsewhere.project));
});

test('a restricted agent can read the artifacts of the work it holds, until the work ends', async () => {
  const at = await restricted();
  const { agent, project, allow, admin } = at;
  await allow({ [project.projectId]: {} });
  const sharedFile = `${smallPipeline}# shared in ${project.projectId}`;
  await publishShared(admin, [{ name: 'check.orch.yaml', content: sharedFile }]);
  const version = await published(at, project, 'dev', makePipelineUsing({ prefix: 'Checks' }));
  const unused = await published(at, project, 'prod');
  await createExecution(at);
  const instance = createInstance(agent);
  await instance.hello();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  const manifest = work.payload.sharedArtifacts?.[0]?.artifactDigest ?? assert.fail('no shared artifact');
  const shared = { manifest, file: createHash('sha256').update(sharedFile).digest('hex') };
  await allow({});
  for (const named of [version, shared]) await requireReadable(agent, named);
  await requireUnknown(agent, unused);
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  for (const named of [version, shared]) await requireUnknown(agent, named);
});
