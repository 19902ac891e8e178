import { trimEnd } from '@headgate/pipelines';
import { problem } from '../../kernel/http/problems.ts';
import { moveRefs, type RefMove, writeCommitObject } from './commit-writing.ts';
import { diffCommits, listChanges } from './difference.ts';
import type { Git, GitCall } from './git.ts';
import type { Commit, GitRepository, Person, Ref, RepositoryUse } from './git-repository.ts';
import { readHeads, readObjects } from './object-reading.ts';
import { removeLeftLocks } from './ref-locks.ts';
import { findBranchNameFault, findRefNameFault, isObjectId } from './ref-name.ts';
import { findEntry, isTreePath, listTree } from './tree-reading.ts';

/** Of one commit object. */
const mostCommitBytes = 1_048_576;

/** More names than this are not given to git one by one: it lists all below their folders. */
const mostArguments = 100;

function listFolders(moves: readonly RefMove[]): string[] {
  if (moves.length <= mostArguments) return moves.map(({ name }) => name);
  return [...new Set(moves.map(({ name }) => name.split('/').slice(0, 2).join('/')))];
}

/** Nothing is read before the first call. */
export function openGitRepository(git: Git, use: RepositoryUse): GitRepository {
  const { folder, environment = {}, mostBytes } = use;
  const call: GitCall = { ...use, environment };

  async function runText(
    args: readonly string[],
    quiet: readonly number[] = [],
  ): Promise<string | undefined> {
    const { code, stdout, stderr } = await git.run(args, call);
    if (code !== 0 && !quiet.includes(code))
      throw problem('git-failed', { command: args[0] ?? '', words: stderr });
    return code === 0 ? stdout.toString('utf8').trim() : undefined;
  }

  async function readCommits(ids: readonly string[]): Promise<Commit[]> {
    const commits: Commit[] = [];
    for await (const found of readObjects(git, call, { names: ids, mostBytes: mostCommitBytes }))
      if (found?.head.type === 'commit') commits.push(parseCommit(found.head.objectId, found.content));
    return commits;
  }

  async function listRefs(prefixes: readonly string[]): Promise<Ref[]> {
    const format = '--format=%(objectname) %(*objectname) %(refname)';
    const text = await runText(['for-each-ref', format, '--', ...prefixes]);
    return (text ?? '').split('\n').flatMap((line) => {
      const [objectId = '', peeledId = '', name = ''] = line.split(' ');
      return name === '' ? [] : [{ name, objectId, ...(peeledId === '' ? {} : { peeledId }) }];
    });
  }

  async function updateRefs(moves: readonly RefMove[]): Promise<boolean> {
    const words = await moveRefs(git, call, moves);
    if (words === undefined) return true;
    const heads = new Map((await listRefs(listFolders(moves))).map(({ name, objectId }) => [name, objectId]));
    if (moves.some(({ name, from }) => (heads.get(name) ?? null) !== from)) return false;
    const isFreed = await removeLeftLocks(folder);
    if (isFreed && (await moveRefs(git, call, moves)) === undefined) return true;
    throw problem('ref-refused', { words });
  }

  /** The commit of a branch or tag. Git itself would take refs/tags/refs/heads/a for the branch a. */
  async function findNamedCommit(names: readonly string[]): Promise<string | undefined> {
    const format = '--format=%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(refname)';
    const text = (await runText(['for-each-ref', format, '--', ...names])) ?? '';
    const found = new Map(text.split('\n').map((line) => [line.slice(line.lastIndexOf(' ') + 1), line]));
    for (const name of names) {
      const [objectId = '', type, peeledId = '', peeledType] = found.get(name)?.split(' ') ?? [];
      if (type === 'commit') return objectId;
      if (peeledType === 'commit') return peeledId;
      // A tag of a tag.
      if (peeledType !== 'tag') continue;
      const [head] = await readHeads(git, call, [`${objectId}^{commit}`]);
      if (head !== undefined) return head.objectId;
    }
    return undefined;
  }

  return {
    folder: use.folder,
    async findCommitId(name) {
      const isFull = /^refs\/(heads|tags)\//.test(name);
      const candidates = isFull ? [name] : [`refs/heads/${name}`, `refs/tags/${name}`];
      const named = candidates.filter((each) => findRefNameFault(each) === undefined);
      const found = isObjectId(name) || named.length === 0 ? undefined : await findNamedCommit(named);
      if (found !== undefined || !/^[0-9a-f]{4,40}$/.test(name)) return found;
      const [head] = await readHeads(git, call, [`${name}^{commit}`]);
      return head?.type === 'commit' ? head.objectId : undefined;
    },
    async readTypes(objectIds) {
      const ids = [...new Set(objectIds)].filter(isObjectId);
      const heads = ids.length === 0 ? [] : await readHeads(git, call, ids);
      return new Map(heads.flatMap((head) => (head === undefined ? [] : [[head.objectId, head.type]])));
    },
    readCommit: async (commitId) => (isObjectId(commitId) ? (await readCommits([commitId]))[0] : undefined),
    async listCommits(from, { most, skip = 0, path }) {
      if (path !== undefined && !isTreePath(trimEnd(path, '/'))) return [];
      const range = [
        `--max-count=${most}`,
        `--skip=${skip}`,
        from,
        '--',
        ...(path === undefined ? [] : [path]),
      ];
      const ids = await git.run(['rev-list', ...range], {
        ...call,
        environment: { ...environment, GIT_LITERAL_PATHSPECS: '1' },
      });
      if (ids.code !== 0) throw problem('git-failed', { command: 'rev-list', words: ids.stderr });
      return readCommits(ids.stdout.toString('latin1').split('\n').filter(Boolean));
    },
    async countCommits({ from, without, most }) {
      const not = without === undefined ? [] : [`^${without}`];
      return Number(await runText(['rev-list', '--count', `--max-count=${most}`, from, ...not, '--']));
    },
    findMergeBase: (one, other) => runText(['merge-base', one, other], [1]),
    isAncestor: async (ancestor, descendant) =>
      (await runText(['merge-base', '--is-ancestor', ancestor, descendant], [1])) !== undefined,
    isReachable: async (commitId) =>
      (await runText(['rev-list', '--max-count=1', commitId, '--not', '--branches', '--tags'])) === '',
    listRefs,
    async readDefaultBranch() {
      const name = await runText(['symbolic-ref', '--quiet', 'HEAD'], [1]);
      return name?.startsWith('refs/heads/') === true ? name.slice('refs/heads/'.length) : undefined;
    },
    async writeDefaultBranch(branch) {
      const fault = findBranchNameFault(branch);
      if (fault !== undefined) throw new Error(`${JSON.stringify(branch)} is no name of a branch: ${fault}`);
      const args = ['symbolic-ref', 'HEAD', `refs/heads/${branch}`];
      const { code } = await git.run(args, call);
      if (code === 0) return;
      await removeLeftLocks(folder);
      await runText(args);
    },
    listTree: (commitId, of) => listTree(git, call, commitId, of),
    findEntry: (commitId, path) => findEntry(git, call, commitId, path),
    async *readBlobs(objectIds, mostBytes, kind) {
      const callOfKind = kind === undefined ? call : { ...call, kind };
      for await (const found of readObjects(git, callOfKind, { names: objectIds, mostBytes })) {
        if (found === undefined)
          throw problem('git-failed', { command: 'cat-file', words: 'an object is missing' });
        yield found.content;
      }
    },
    diffCommits: (from, to, mostBytes) => diffCommits(git, call, [from, to], mostBytes),
    listChanges: (from, to) => listChanges(git, call, [from, to], false),
    writeCommitObject: (write) => writeCommitObject(git, call, write, mostBytes),
    async writeCommit({ branch, ...write }) {
      const { commitId } = await writeCommitObject(git, call, write, mostBytes);
      const move = { name: `refs/heads/${branch}`, from: write.expectedHead, to: commitId };
      return (await updateRefs([move])) ? commitId : undefined;
    },
    updateRefs,
  };
}

const longestDate = 8_640_000_000_000;

/** Reads a commit object. Of a malformed one, missing members are empty, and an invalid date is 1970. */
export function parseCommit(commitId: string, content: Buffer): Commit {
  const text = content.toString('utf8').replaceAll('\0', '\ufffd');
  const end = text.indexOf('\n\n');
  const head = end < 0 ? text : text.slice(0, end);
  const lines = head.split('\n');
  const values = (key: string) =>
    lines.filter((line) => line.startsWith(`${key} `)).map((line) => line.slice(key.length + 1));
  return {
    commitId,
    treeId: values('tree')[0] ?? '',
    parentIds: values('parent'),
    author: parsePerson(values('author')[0] ?? ''),
    committer: parsePerson(values('committer')[0] ?? ''),
    message: end < 0 ? '' : text.slice(end + 2),
  };
}

/** `Name <email> 1700000000 +0200` */
function parsePerson(line: string): Person {
  const open = line.indexOf('<');
  const close = line.indexOf('>', open);
  if (open < 0 || close < 0) return { name: line, email: '', at: new Date(0) };
  const seconds = Number(/^ (-?\d+)/.exec(line.slice(close + 1))?.[1] ?? 0);
  const isDate = Number.isFinite(seconds) && Math.abs(seconds) <= longestDate / 1_000;
  return {
    name: line.slice(0, open).replace(/ $/, ''),
    email: line.slice(open + 1, close),
    at: new Date(isDate ? seconds * 1_000 : 0),
  };
}
