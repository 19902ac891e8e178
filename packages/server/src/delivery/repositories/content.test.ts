/** Branches, commits and files by the API: the same on a hosted repository and on one of another host. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type {
  BranchComparison,
  CommitDifference,
  Page,
  RepositoryBranch,
  RepositoryCommit,
  RepositoryFile,
  RepositoryFileContent,
} from '@headgate/contract';
import { associate, host as hostHere, loopbackAllowed } from '../../../testing/associated-project.ts';
import { startGitHost } from '../../../testing/git-host.ts';
import type { TestProject } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: loopbackAllowed });
const account = await server.account();
const { admin } = account;
const gitHost = await startGitHost();
after(() => gitHost.close());

interface Committed {
  commitId: string;
}
interface CommitPage {
  results: RepositoryCommit[];
  more?: string;
}

/** A submodule whose address git would take for an option. */
const badModules = '[submodule "a"]\n\tpath = a\n\turl = -u./payload\n';

let repositories = 0;
const kinds = {
  'hosted here': async () => {
    const project = await account.project();
    await hostHere(admin, project);
    return project;
  },
  'on another host': async () => {
    const project = await account.project();
    repositories += 1;
    const repository = gitHost.addRepository(`acme/r${repositories}.git`, { writers: ['t0ken'] });
    await associate(admin, project, { cloneUrl: repository.cloneUrl, token: 't0ken' });
    return project;
  },
};

const at = (project: TestProject) => `${project.path}/repositories`;
const commit = (project: TestProject, body: object) =>
  admin.post<Committed>(`${at(project)}/commits`, { branch: 'main', message: 'change', ...body });

for (const [kind, makeProject] of Object.entries(kinds))
  describe(`a repository ${kind}`, () => {
    test('is empty at first, and gets its first commit by the API', async () => {
      const project = await makeProject();
      const none = (await admin.get<Page<RepositoryBranch>>(`${at(project)}/branches`)).body;
      assert.deepEqual([none.results, none.total], [[], 0]);
      assert.deepEqual((await admin.get(`${at(project)}/commits`)).body, { results: [] });
      assert.equal((await admin.get<Page<RepositoryFile>>(`${at(project)}/files`)).body.total, 0);
      assert.equal(
        (await admin.get(`${at(project)}/files/content?path=a`)).problem.code,
        'revision-not-found',
      );

      const files = [
        { path: 'main.orch.yaml', content: 'version: "1.0.0"\n' },
        { path: 'sub/blåbær.txt', content: 'blå\n' },
        { path: 'sub/bytes.bin', content: Buffer.from([0, 255, 1]).toString('base64'), encoding: 'base64' },
      ];
      const first = (await commit(project, { message: 'first\n\nmore', files })).body;
      const branches = (await admin.get<Page<RepositoryBranch>>(`${at(project)}/branches`)).body;
      assert.deepEqual(branches.results, [
        { name: 'main', commitId: first.commitId, isDefault: true, isProtected: true },
      ]);
      const listed = (await admin.get<Page<RepositoryFile>>(`${at(project)}/files`)).body.results;
      assert.deepEqual(
        listed.map(({ path, kind: of }) => [path, of]),
        [
          ['main.orch.yaml', 'file'],
          ['sub', 'folder'],
        ],
      );
      const all = (await admin.get<Page<RepositoryFile>>(`${at(project)}/files?recursive=true&size=2&page=1`))
        .body;
      assert.deepEqual([all.total, all.results.map(({ path }) => path)], [3, ['sub/bytes.bin']]);
      const read = async (path: string) =>
        (
          await admin.get<RepositoryFileContent>(
            `${at(project)}/files/content?path=${encodeURIComponent(path)}`,
          )
        ).body;
      assert.deepEqual(
        [(await read('sub/blåbær.txt')).content, (await read('sub/blåbær.txt')).encoding],
        ['blå\n', 'utf-8'],
      );
      assert.deepEqual(
        [(await read('sub/bytes.bin')).content, (await read('sub/bytes.bin')).encoding],
        ['AP8B', 'base64'],
      );
      const { results } = (await admin.get<CommitPage>(`${at(project)}/commits`)).body;
      assert.equal(results[0]?.message, 'first\n\nmore\n');
      assert.match(results[0]?.author.email ?? '', /@noreply\.headgate$/);
    });

    test('takes a commit on the expected head only', async () => {
      const project = await makeProject();
      const first = (await commit(project, { files: [{ path: 'a.txt', content: '1' }] })).body.commitId;
      const write = (expectedHead: string | undefined, content: string) =>
        commit(project, { expectedHead, files: [{ path: 'a.txt', content }] });
      const second = (await write(first, '2')).body.commitId;
      const stale = (await write(first, '3')).problem;
      assert.deepEqual([stale.status, stale.code], [409, 'branch-has-moved']);
      assert.match(stale.detail, new RegExp(`is at ${second}`));
      const race = await Promise.all(['4', '5', '6', '7'].map((content) => write(second, content)));
      assert.deepEqual(race.map(({ status }) => status).toSorted(), [201, 409, 409, 409]);
      const same = await write(undefined, `${race.findIndex(({ status }) => status === 201) + 4}`);
      assert.deepEqual([same.status, same.problem.code], [422, 'nothing-to-commit']);
      assert.equal(
        (await commit(project, { branch: 'none', files: [{ path: 'a', content: '' }] })).problem.code,
        'unknown-branch',
      );
    });

    test('commits at once without an expected head all arrive', async () => {
      const project = await makeProject();
      const paths = ['a', 'b', 'c'].map((name) => `${name}.txt`);
      await commit(project, { files: [{ path: 'first.txt', content: '' }] });
      const made = await Promise.all(
        paths.map((path) => commit(project, { files: [{ path, content: path }] })),
      );
      assert.deepEqual(
        made.map(({ status }) => status),
        [201, 201, 201],
      );
      const { results } = (await admin.get<Page<RepositoryFile>>(`${at(project)}/files`)).body;
      assert.deepEqual(
        results.map(({ path }) => path),
        [...paths, 'first.txt'],
      );
    });

    test('a commit repeated with the same Idempotency-Key is made once', async () => {
      const project = await makeProject();
      const body = { branch: 'main', message: 'once', files: [{ path: 'a.txt', content: '1' }] };
      const headers = { 'idempotency-key': `once ${kind}` };
      const send = () => admin.post<Committed>(`${at(project)}/commits`, body, { headers });
      const first = await send();
      const second = await send();
      assert.deepEqual([second.status, second.body], [201, first.body]);
      assert.equal(second.headers['idempotency-replayed'], 'true');
      assert.equal((await admin.get<CommitPage>(`${at(project)}/commits`)).body.results.length, 1);
    });

    test('branches are created, compared and deleted; the default branch is protected', async () => {
      const project = await makeProject();
      const first = (await commit(project, { files: [{ path: 'a.txt', content: '1\n' }] })).body.commitId;
      const made = await admin.post(`${at(project)}/branches`, { name: 'feature/x' });
      assert.deepEqual(
        [made.status, made.body],
        [201, { name: 'feature/x', commitId: first, isDefault: false, isProtected: false }],
      );
      for (const name of ['feature/x', 'feature', 'feature/x/y'])
        assert.equal(
          (await admin.post(`${at(project)}/branches`, { name })).problem.code,
          'branch-exists',
          name,
        );
      assert.equal(
        (await admin.post(`${at(project)}/branches`, { name: 'a..b' })).problem.code,
        'invalid-branch-name',
      );
      const unknown = (await admin.post(`${at(project)}/branches`, { name: 'y', from: 'mian' })).problem;
      assert.match(unknown.detail, /Did you mean main\?/);

      await commit(project, { branch: 'feature/x', files: [{ path: 'b.txt', content: 'x\ny\n' }] });
      const head = (await commit(project, { branch: 'feature/x', files: [{ path: 'a.txt', delete: true }] }))
        .body.commitId;
      await commit(project, { files: [{ path: 'c.txt', content: '' }] });
      const compared = (
        await admin.get<BranchComparison>(`${at(project)}/branches/compare?base=main&head=feature/x`)
      ).body;
      assert.deepEqual([compared.ahead, compared.behind, compared.mergeBaseCommitId], [2, 1, first]);
      assert.deepEqual(
        compared.files.map(({ path, change }) => [path, change]),
        [
          ['a.txt', 'deleted'],
          ['b.txt', 'added'],
        ],
      );
      const diff = (await admin.get<CommitDifference>(`${at(project)}/diff?from=${first}&to=feature/x`)).body;
      assert.deepEqual([diff.toCommitId, diff.isCut], [head, false]);
      assert.match(diff.patch, /^\+y$/m);

      const remove = (query: string) => admin.delete(`${at(project)}/branches?${query}`);
      assert.equal((await remove('branchName=main')).problem.code, 'branch-is-protected');
      assert.equal(
        (await remove(`branchName=feature/x&expectedHead=${first}`)).problem.code,
        'branch-has-moved',
      );
      assert.equal((await remove(`branchName=feature/x&expectedHead=${head}`)).status, 204);
      assert.equal((await remove('branchName=feature/x')).problem.code, 'branch-not-found');
    });

    test('commits are paged from the head of the first page, and filtered by path', async () => {
      const project = await makeProject();
      for (let count = 0; count < 5; count += 1)
        await commit(project, {
          message: `c${count}`,
          files: [{ path: `f${count % 2}.txt`, content: `${count}` }],
        });
      const seen: string[] = [];
      let more: string | undefined;
      do {
        const token: string = more === undefined ? '' : `&paginationToken=${more}`;
        const page: CommitPage = (await admin.get<CommitPage>(`${at(project)}/commits?limit=2${token}`)).body;
        seen.push(...page.results.map(({ message }) => message.trim()));
        more = page.more;
        if (seen.length === 2)
          await commit(project, { message: 'later', files: [{ path: 'l', content: 'l' }] });
      } while (more !== undefined);
      assert.deepEqual(seen, ['c4', 'c3', 'c2', 'c1', 'c0']);
      const of = (await admin.get<CommitPage>(`${at(project)}/commits?path=f1.txt`)).body.results;
      assert.deepEqual(
        of.map(({ message }) => message.trim()),
        ['c3', 'c1'],
      );
      for (const token of ['x', Buffer.from(`1:${'a'.repeat(40)}.0`).toString('base64url')])
        assert.equal((await admin.get(`${at(project)}/commits?paginationToken=${token}`)).status, 400);
    });

    test('files that an upload would refuse cannot be committed', async () => {
      const project = await makeProject();
      await commit(project, { files: [{ path: 'dir/a', content: '' }] });
      for (const [files, reason] of [
        [[{ path: '../x', content: '' }], /"\."/],
        [[{ path: '/x', content: '' }], /absolute/],
        [[{ path: 'a\\b', content: '' }], /backslash/],
        [[{ path: '.GIT/config', content: '' }], /belongs to Git/],
        [[{ path: '.git::$INDEX_ALLOCATION/config', content: '' }], /belongs to Git/],
        [
          [
            { path: 'a', content: '' },
            { path: '.gitmodules', content: badModules },
          ],
          /^The file ".gitmodules".*url/,
        ],
        [
          [
            { path: 'x', content: '' },
            { path: 'x', delete: true },
          ],
          /twice/,
        ],
        [
          [
            { path: 'x', content: '' },
            { path: 'x/y', content: '' },
          ],
          /"x" is a file/,
        ],
        [[{ path: 'dir', content: '' }], /is a folder/],
        [[{ path: 'dir/a/b', content: '' }], /"dir\/a" is a file/],
        [[{ path: 'none', delete: true }], /no such file/],
        [[{ path: 'x' }], /neither/],
        [[{ path: 'x', content: '', delete: true }], /both/],
        [[{ path: 'x', content: 'a', encoding: 'base64' }], /not base64/],
      ] as const) {
        const { problem } = await commit(project, { files });
        assert.equal(problem.code, 'invalid-repository-file', JSON.stringify(files));
        assert.match(problem.detail, reason);
      }
      // What was refused has left nothing that would keep later commits from being written.
      const message = 'a\u0000b';
      assert.ok((await commit(project, { message, files: [{ path: 'x', content: '' }] })).status < 500);
      const swapped = await commit(project, {
        files: [
          { path: 'dir/a', delete: true },
          { path: 'dir', content: '' },
        ],
      });
      assert.equal(swapped.status, 201);
    });

    test('a commit that no branch or tag contains cannot be read by its id', async () => {
      const project = await makeProject();
      const retained = (await commit(project, { files: [{ path: 'a', content: '1' }] })).body.commitId;
      await commit(project, { files: [{ path: 'a', content: '2' }] });
      await admin.post(`${at(project)}/branches`, { name: 'work' });
      const files = [{ path: 'secret', content: 'x' }];
      const removed = (await commit(project, { branch: 'work', files })).body.commitId;
      const read = async (path: string) => (await admin.get(`${at(project)}/${path}`)).status;
      const token = Buffer.from(`1:${removed}.0`).toString('base64url');
      const paths = [
        `commits?commit=${removed}`,
        `commits?paginationToken=${token}`,
        `files?commit=${removed.slice(0, 12)}`,
        `files/content?commit=${removed}&path=secret`,
        `diff?from=main&to=${removed}`,
        `branches/compare?base=main&head=${removed}`,
      ];
      for (const path of paths) assert.equal(await read(path), 200, path);
      assert.equal((await admin.delete(`${at(project)}/branches?branchName=work`)).status, 204);
      for (const path of paths) assert.ok([400, 404].includes(await read(path)), path);
      const again = (await admin.post(`${at(project)}/branches`, { name: 'again', from: removed })).problem;
      assert.deepEqual([again.status, again.code], [422, 'unknown-revision']);
      assert.match(again.detail, /[Nn]o branch or tag .*contains/);
      assert.equal(await read(`files/content?commit=${retained}&path=a`), 200);
    });

    test('what does not exist is 404', async () => {
      const project = await makeProject();
      await commit(project, { files: [{ path: 'dir/a', content: '' }] });
      for (const path of ['files?path=/dir', 'files/content?path=/dir/a', 'commits?path=/dir/a'])
        assert.equal((await admin.get(`${at(project)}/${path}`)).status, 200, path);
      const folder = (await admin.get(`${at(project)}/files/content?path=dir`)).problem;
      assert.match(folder.detail, /has no file "dir"\.$/);
      for (const [path, code] of [
        ['commits?branch=nope', 'revision-not-found'],
        ['commits?commit=ffffffffffffffffffffffffffffffffffffffff', 'revision-not-found'],
        ['files?path=nope', 'repository-file-not-found'],
        ['files/content?path=dir', 'repository-file-not-found'],
        ['files/content?path=--all', 'repository-file-not-found'],
        ['files?branch=--output=x', 'revision-not-found'],
        ['branches/compare?base=main&head=%00', 'invalid-request'],
        ['diff?from=main&to=main~1', 'revision-not-found'],
        ['diff?from=main^{tree}&to=main', 'revision-not-found'],
      ] as const)
        assert.equal((await admin.get(`${at(project)}/${path}`)).problem.code, code, path);
    });
  });

test('a path outside of the repository is not found', async () => {
  const project = await account.project();
  await hostHere(admin, project);
  await commit(project, { files: [{ path: 'a', content: 'a' }] });
  for (const path of ['../x', '/x', 'a//b', '.', 'a%00b', '-x', ':(top)x']) {
    for (const what of ['files', 'files/content', 'commits']) {
      const answer = await admin.get(`${at(project)}/${what}?path=${path}`);
      assert.ok(answer.status < 500, `${what} ${path}: ${answer.status} ${answer.text}`);
    }
  }
});
