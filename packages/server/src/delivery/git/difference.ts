/** What two commits differ in. */
import { problem } from '../../kernel/http/problems.ts';
import type { Git, GitCall } from './git.ts';
import type { ChangeKind, Difference, FileChange } from './git-repository.ts';
import { splitByNul } from './tree-reading.ts';

const mostListingBytes = 32 * 1_048_576;
/** No program of a repository's choice, no colours, renames found. */
const always = ['-r', '-M', '--no-ext-diff', '--no-textconv', '--no-color', '--full-index', '--no-commit-id'];
const changeKinds: Readonly<Record<string, ChangeKind>> = {
  A: 'added',
  D: 'deleted',
  M: 'modified',
  R: 'renamed',
  T: 'type-changed',
};

async function runDiff(git: Git, call: GitCall, args: readonly string[]) {
  const found = await git.run(['diff-tree', ...always, ...args], call);
  if (found.code !== 0) throw problem('git-failed', { command: 'diff-tree', words: found.stderr });
  return found;
}

/** @param counts whether lines are counted, which reads the files */
export async function listChanges(
  git: Git,
  call: GitCall,
  range: readonly [from: string, to: string],
  counts: boolean,
): Promise<FileChange[]> {
  const bounded = { ...call, mostOutputBytes: mostListingBytes };
  const { stdout } = await runDiff(git, bounded, ['--raw', '-z', ...range]);
  const changes = parseRaw(splitByNul(stdout).map((part) => part.toString('utf8')));
  if (!counts) return changes;
  const counted = await runDiff(git, bounded, ['--numstat', '-z', ...range]);
  const countsOf = parseCounts(splitByNul(counted.stdout).map((part) => part.toString('utf8')));
  return changes.map((change) => ({ ...change, ...countsOf.get(change.path) }));
}

/** `:mode mode id id status`, path, and for a rename the new path. */
function parseRaw(parts: readonly string[]): FileChange[] {
  const changes: FileChange[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const [, , earlierId = '', objectId = '', status = ''] = (parts[at] ?? '').split(' ');
    const kind = changeKinds[status.charAt(0)] ?? 'modified';
    at += 1;
    const first = parts[at] ?? '';
    if (kind === 'renamed') at += 1;
    const path = kind === 'renamed' ? (parts[at] ?? '') : first;
    changes.push({
      kind,
      path,
      ...(kind === 'renamed' ? { earlierPath: first } : {}),
      ...(kind === 'added' ? {} : { earlierId }),
      ...(kind === 'deleted' ? {} : { objectId }),
      isBinary: false,
    });
  }
  return changes;
}

/** `added\tdeleted\tpath`, or `added\tdeleted\t` and both paths of a rename; `-` for what is not text. */
function parseCounts(parts: readonly string[]): Map<string, Partial<FileChange>> {
  const counts = new Map<string, Partial<FileChange>>();
  for (let at = 0; at < parts.length; at += 1) {
    const [additions = '', deletions = '', ...rest] = (parts[at] ?? '').split('\t');
    let path = rest.join('\t');
    if (path === '') {
      at += 2;
      path = parts[at] ?? '';
    }
    const isBinary = additions === '-';
    const lines = { additions: Number(additions), deletions: Number(deletions) };
    counts.set(path, { isBinary, ...(isBinary ? {} : lines) });
  }
  return counts;
}

export async function diffCommits(
  git: Git,
  call: GitCall,
  range: readonly [from: string, to: string],
  mostBytes: number,
): Promise<Difference> {
  const files = await listChanges(git, call, range, true);
  const found = await runDiff(git, { ...call, mostOutputBytes: mostBytes, cutsOutput: true }, [
    '-p',
    ...range,
  ]);
  const text = found.stdout.toString('utf8');
  if (!found.isCut) return { files, patch: text, isCut: false };
  const lastFile = text.lastIndexOf('\ndiff --git ');
  return { files, patch: lastFile < 0 ? '' : text.slice(0, lastFile + 1), isCut: true };
}
