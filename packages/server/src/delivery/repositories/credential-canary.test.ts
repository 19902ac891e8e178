/** A token of a Git host is seen by that host only: in no process, log line, answer, event, table or file. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { associate, loopbackAllowed, tokenHeader } from '../../../testing/associated-project.ts';
import { commitFiles, startGitHost } from '../../../testing/git-host.ts';
import { listForms } from '../../../testing/secret-forms.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: loopbackAllowed });
const { admin, ...account } = await server.account();
const host = await startGitHost();
after(() => host.close());

const token = 'canary-of-a-token_of_a/git+host';
const inHeader = Buffer.from(`headgate:${token}`).toString('base64');
const forms = [...listForms(token), ...listForms(inHeader)];
const holds = (text: string) => forms.some((form) => text.includes(form));

/** Command lines and environments of all processes that can be read. */
function findInProcesses(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) =>
      ['cmdline', 'environ'].flatMap((file) => {
        try {
          return holds(readFileSync(`/proc/${pid}/${file}`, 'latin1')) ? [`/proc/${pid}/${file}`] : [];
        } catch {
          return [];
        }
      }),
    );
}

/** Scratch files of git may be gone before they are read. */
function ifThere<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch (failure) {
    if (failure instanceof Error && 'code' in failure && failure.code === 'ENOENT') return undefined;
    throw failure;
  }
}

function findInFiles(folder: string): string[] {
  const entries = ifThere(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return findInFiles(path);
    return entry.isFile() && holds(ifThere(() => readFileSync(path, 'latin1')) ?? '') ? [path] : [];
  });
}

test('a token of a Git host is nowhere but in its requests', async () => {
  const project = await account.project();
  const path = `${project.path}/repositories`;
  const repository = host.addRepository('acme/canary.git', { writers: [token] });
  commitFiles(repository.folder, { files: { a: 'b' } });
  await associate(admin, project, { cloneUrl: repository.cloneUrl, token });
  const found: string[] = [];
  const answers: string[] = [];
  const asked = async <Result extends { text: string; headers: object }>(sent: Promise<Result>) => {
    const answer = await sent;
    answers.push(answer.text + JSON.stringify(answer.headers));
  };
  // Slow enough to look at git while it works.
  repository.behaviour = { chunkMilliseconds: 300 };
  const reading = asked(admin.get(`${path}/branches`));
  while (!host.requests.some(({ url }) => url.includes('git-upload-pack'))) await new Promise(setImmediate);
  found.push(...findInProcesses());
  await reading;
  repository.behaviour = {};
  const commit = { branch: 'main', message: 'x', files: [{ path: 'c', content: 'd' }] };
  await asked(admin.post(`${path}/commits`, commit));
  await asked(admin.post(`${path}/token`, undefined, { headers: { [tokenHeader]: `${token} x` } }));
  await asked(admin.post(`${path}/token`, undefined, { headers: { [tokenHeader]: token } }));
  repository.behaviour = { answer: { status: 403, body: `no: ${token} ${inHeader}` } };
  await asked(admin.get(`${path}/branches?page=1`));
  await asked(admin.get(path));
  await asked(admin.get('/events?size=100'));
  assert.ok(host.requests.some(({ authorization }) => authorization === `Basic ${inHeader}`));

  const tables = await server.database.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
  );
  for (const { name } of tables)
    for (const { row } of await server.database.query<{ row: string }>(
      `select t::text as row from ${name} t`,
    ))
      if (holds(row)) found.push(`the table ${name}`);
  found.push(...server.logLines.filter(holds).map((line) => `the log: ${line}`));
  found.push(...answers.filter(holds).map((text) => `an answer: ${text}`));
  found.push(...findInFiles(join(server.deps.repositoriesFolder, '..')));
  assert.deepEqual(found, []);
  assert.ok(
    answers.some((text) => text.includes('[credential]')),
    'the words of the host are shown',
  );
});
