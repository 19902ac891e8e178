/**
 * Concurrent uploads with common files, deletions of versions, and a collector without a grace period: its
 * clock is ahead of that of the uploads. Afterwards every file of every version exists, and nothing else
 * does.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { roundsOr, testSeed } from '@headgate/contract/testing/rounds';
import type { Account } from '../../../testing/account.ts';
import { createMovableClock } from '../../../testing/clock.ts';
import { type Part, type TestProject, upload } from '../../../testing/project.ts';
import { seededRandom } from '../../../testing/seeded-random.ts';
import { startTestServer } from '../../../testing/server.ts';
import { beginUpload, commitUpload, digestText } from '../../../testing/unfinished-upload.ts';
import type { Rest } from '../../kernel/retention/retention.ts';
import { readManifestFiles, type Upload } from '../artifacts/index.ts';
import { createCollector } from './collector.ts';

const server = await startTestServer();
const { deps, clock, database } = server;
const noRest: Rest = async () => undefined;
const grace = 25 * 3_600;
const uploaders = 6;
const uploadsEach = roundsOr(10);

const buildText = (index: number) => `${index} `.repeat(20 + ((index * 37) % 900));

const ahead = createMovableClock(clock.now());
const collector = createCollector({ ...deps, clock: ahead });

async function collectOnce(): Promise<void> {
  ahead.advance(grace);
  assert.ok(await collector.collect(noRest));
}

async function requireWhole({ accountId }: Account): Promise<number> {
  const files = await database.query<{ sha256: string; size: string }>(
    `select distinct encode(f.digest, 'hex') as sha256, f.size
     from artifact_version v join manifest m on m.account_id = v.account_id and m.digest = v.manifest_digest,
       unnest(m.chunks) as listed (chunk)
       left join manifest_chunk c on c.account_id = $1 and c.digest = listed.chunk
       left join lateral unnest(c.digests, c.sizes) as f (digest, size) on true
     where v.account_id = $1`,
    [accountId],
  );
  for (const { sha256, size } of files) {
    const found = await deps.blobs.read(accountId, sha256);
    assert.ok(found, `${sha256} is missing`);
    const bytes = await buffer(found.stream);
    assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256);
    assert.equal(bytes.length, Number(size));
  }
  return files.length;
}

async function requireCounted(accountId: string): Promise<void> {
  const miscounted = await database.query(
    `select object_key, state, live_bytes, rows.bytes from blob_object o left join lateral (
       select coalesce(sum(size), 0) as bytes from blob b where b.account_id = $1 and b.object_key = o.object_key) rows on true
     where account_id = $1 and live_bytes <> rows.bytes`,
    [accountId],
  );
  assert.deepEqual(miscounted, []);
}

async function requireNothingElse({ accountId }: Account): Promise<void> {
  const [rows] = await database.query<
    Record<'manifests' | 'chunks' | 'blobs' | 'keys' | 'objects', string[]>
  >(
    `select
      array(select digest from manifest m where account_id = $1 and not exists (
        select from artifact_version v where v.account_id = $1 and v.manifest_digest = m.digest)) as manifests,
      array(select encode(digest, 'hex') from manifest_chunk c where account_id = $1 and not exists (
        select from manifest m where m.account_id = $1 and c.digest = any(m.chunks))) as chunks,
      array(select digest from blob b where account_id = $1 and not exists (
        select from manifest_chunk c where c.account_id = $1 and decode(b.digest, 'hex') = any(c.digests))) as blobs,
      array(select distinct object_key from blob where account_id = $1 order by 1) as keys,
      array(select object_key from blob_object where account_id = $1 order by 1) as objects`,
    [accountId],
  );
  assert.deepEqual(rows?.manifests, []);
  assert.deepEqual(rows?.chunks, []);
  assert.deepEqual(rows?.blobs, []);
  const objects = await database.query(
    'select object_key, state, size, live_bytes, since from blob_object where account_id = $1',
    [accountId],
  );
  assert.deepEqual(rows?.objects, rows?.keys, JSON.stringify(objects));
  await requireCounted(accountId);
  const folder = join(deps.config.dataDirectory, 'blobs', accountId);
  assert.deepEqual((await readdir(folder)).sort(), rows?.keys);
}

test(`uploads, deletions and the collector at once (TEST_SEED=${testSeed})`, {
  timeout: 600_000,
}, async () => {
  const account = await server.account();
  const { admin } = account;
  const random = seededRandom(testSeed);
  const randomBelow = (count: number) => Math.floor(random() * count);
  const projects: TestProject[] = [await account.project(), await account.project()];
  const outcomes: Record<number, number> = {};

  function createParts(): Part[] {
    // Sometimes more than one batch, so that the collector can run between the parts.
    const count = randomBelow(4) === 0 ? 270 + randomBelow(60) : 1 + randomBelow(30);
    const first = randomBelow(400);
    return Array.from({ length: count }, (_, index) => ({
      name: `f${index}`,
      content: buildText((first + index) % 500),
    }));
  }

  async function uploadRepeatedly(uploader: number): Promise<void> {
    for (let number = 0; number < uploadsEach; number++) {
      const project = projects[randomBelow(projects.length)];
      assert.ok(project);
      const headers = {
        versionName: `v${uploader}-${number}`,
        environmentName: randomBelow(2) === 0 ? 'dev' : 'prod',
      };
      const { status, text } = await upload(admin, project, createParts(), headers);
      outcomes[status] = (outcomes[status] ?? 0) + 1;
      // The project or environment was deleted, or the grace period ended during the upload, or the pack
      // was doomed and removed during the put.
      assert.ok([201, 404, 409, 503].includes(status), text);
    }
  }

  async function deleteRepeatedly(over: () => boolean): Promise<void> {
    while (!over()) {
      const project = projects[randomBelow(projects.length)];
      assert.ok(project);
      const environment = randomBelow(2) === 0 ? 'dev' : 'prod';
      if (randomBelow(3) === 0) {
        projects.splice(projects.indexOf(project), 1, await account.project());
        await admin.delete(project.path);
      } else {
        await admin.delete(`${project.path}/environments/${environment}?confirm=true`);
        await admin.post(`${project.path}/environments`, { name: environment });
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  let done = false;
  async function collectRepeatedly(): Promise<void> {
    while (!done) await collectOnce();
  }
  const uploads = Array.from({ length: uploaders }, (_, uploader) => uploadRepeatedly(uploader));
  const uploaded = Promise.all(uploads).finally(() => {
    done = true;
  });
  const ends = await Promise.allSettled([uploaded, collectRepeatedly(), deleteRepeatedly(() => done)]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;

  assert.ok((outcomes[201] ?? 0) > uploaders, JSON.stringify(outcomes));
  await requireWhole(account);
  // One more upload, so that the last deletion cannot leave the account empty.
  const [last] = projects;
  assert.ok(last);
  await upload(admin, last, createParts(), { versionName: 'last' });
  for (let pass = 0; pass < 6; pass++) await collectOnce();
  await deps.blobs.waitForRemovals();
  assert.ok((await requireWhole(account)) > 0);
  await requireNothingElse(account);
});

const read = (account: Account, then: (upload: Upload) => Promise<void>, base: string | null = null) =>
  beginUpload(deps, account, { texts: ['shared'], base }, then);

const insert = (account: Account, upload: Upload) => commitUpload(deps, account, upload);

test('an upload that takes longer than the grace period is refused as a whole', async () => {
  const account = await server.account();
  await assert.rejects(
    read(account, async (upload) => {
      await collectOnce();
      await insert(account, upload);
    }),
    { code: 'concurrent-change' },
  );
  const [row] = await database.query('select from blob where account_id = $1', [account.accountId]);
  assert.equal(row, undefined);
});

test('an upload that relies on a file removed meanwhile is refused as a whole', async () => {
  const account = await server.account();
  await read(account, (upload) => insert(account, upload));
  await collectOnce();
  await collectOnce();
  await assert.rejects(
    read(account, async (upload) => {
      assert.equal(upload.blobs.objects.length, 0, 'the account has the file');
      for (let pass = 0; pass < 3; pass++) await collectOnce();
      await insert(account, upload);
    }),
    { code: 'concurrent-change' },
  );
  const [row] = await database.query('select from manifest where account_id = $1', [account.accountId]);
  assert.equal(row, undefined);
});

test('an upload that relies on a previous version removed meanwhile is refused as a whole', async () => {
  const account = await server.account();
  let base = '';
  await read(account, async (upload) => {
    await insert(account, upload);
    base = upload.manifest.digest;
  });
  let digest = '';
  const again = (meanwhile: () => Promise<void>) =>
    read(
      account,
      async (upload) => {
        assert.equal(upload.blobs.base.blobs.size, 1, 'the account has the file');
        // The same list of files, so no manifest is written.
        const same = { ...upload, manifest: { ...upload.manifest, chunks: [{ digest: base, files: [] }] } };
        digest = same.manifest.digest;
        await meanwhile();
        await insert(account, same);
      },
      base,
    );
  await again(async () => undefined);
  const [found] = (await readManifestFiles(deps.database.read, account.accountId, digest)) ?? [];
  assert.equal(found?.size, 6);
  const gone = again(async () => {
    for (let pass = 0; pass < 2; pass++) await collectOnce();
  });
  await assert.rejects(gone, { code: 'concurrent-change' });
  assert.equal(await readManifestFiles(deps.database.read, account.accountId, digest), undefined);
});

test('an upload with a condemned file keeps it for another grace period', async () => {
  const account = await server.account();
  await read(account, (upload) => insert(account, upload));
  await collectOnce();
  await collectOnce();
  // Condemned for nearly a grace period.
  const late = createMovableClock(new Date(ahead.now().getTime() + (grace - 7_200) * 1_000));
  clock.advance((late.now().getTime() - clock.now().getTime()) / 1_000);
  await read(account, async (upload) => {
    late.advance(7_200);
    assert.ok(await createCollector({ ...deps, clock: late }).collect(noRest));
    await insert(account, upload);
  });
  const found = await deps.blobs.read(account.accountId, digestText('shared'));
  assert.equal(found && (await buffer(found.stream)).toString(), 'shared');
});
