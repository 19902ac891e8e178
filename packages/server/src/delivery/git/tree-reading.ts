import { isUtf8 } from 'node:buffer';
import { trimEnd } from '@headgate/pipelines';
import { problem } from '../../kernel/http/problems.ts';
import type { Git, GitCall } from './git.ts';
import type { EntryKind, TreeEntry } from './git-repository.ts';

/** Of a listing: about 100,000 files. */
const mostListingBytes = 32 * 1_048_576;

const kinds: Readonly<Record<string, EntryKind>> = {
  '100755': 'executable',
  '120000': 'link',
  '040000': 'folder',
  '160000': 'submodule',
};

export async function listTree(
  git: Git,
  call: GitCall,
  commitId: string,
  { recursive, path }: { recursive: boolean; path?: string },
): Promise<TreeEntry[]> {
  const of = path === undefined || path === '' ? [] : [`${trimEnd(path, '/')}/`];
  const { code, stdout, stderr } = await git.run(
    ['ls-tree', '-z', '-l', '--full-tree', ...(recursive ? ['-r'] : []), commitId, '--', ...of],
    {
      ...call,
      mostOutputBytes: mostListingBytes,
      environment: { ...call.environment, GIT_LITERAL_PATHSPECS: '1' },
    },
  );
  if (code !== 0) throw problem('git-failed', { command: 'ls-tree', words: stderr });
  return splitByNul(stdout).map(parseEntry);
}

/** Git fails for paths that lead out of a tree; no entry has one. */
export function isTreePath(path: string): boolean {
  return !path.includes('\0') && path.split('/').every((part) => !['', '.', '..'].includes(part));
}

/** The entry of one path, of any kind. */
export async function findEntry(
  git: Git,
  call: GitCall,
  commitId: string,
  path: string,
): Promise<TreeEntry | undefined> {
  if (!isTreePath(path)) return undefined;
  const { code, stdout, stderr } = await git.run(
    ['ls-tree', '-z', '-l', '--full-tree', commitId, '--', path],
    { ...call, environment: { ...call.environment, GIT_LITERAL_PATHSPECS: '1' } },
  );
  if (code !== 0) throw problem('git-failed', { command: 'ls-tree', words: stderr });
  return splitByNul(stdout)
    .map(parseEntry)
    .find((entry) => entry.path === path);
}

/** `<mode> <type> <id> <size>\t<path>` */
function parseEntry(line: Buffer): TreeEntry {
  const tab = line.indexOf(9);
  const [mode = '', , objectId = '', size = ''] = line.subarray(0, tab).toString('latin1').split(/ +/);
  const path = line.subarray(tab + 1);
  return {
    path: path.toString('utf8'),
    isText: isUtf8(path),
    kind: kinds[mode] ?? 'file',
    objectId,
    ...(/^\d+$/.test(size) ? { size: Number(size) } : {}),
  };
}

export function splitByNul(output: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = output.indexOf(0); at >= 0; at = output.indexOf(0, from)) {
    parts.push(output.subarray(from, at));
    from = at + 1;
  }
  return parts;
}
