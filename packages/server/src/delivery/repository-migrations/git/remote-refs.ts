/**
 * The refs of a repository, as `git ls-remote --symref` lists them.
 *
 * Names are bytes for git and need not be UTF-8. They are kept as one character a byte (Latin-1), so that
 * two names that differ never become equal; `showRef` makes text of one.
 */

export interface RemoteRefs {
  /** Object ids by name. Of an annotated tag, the id of the tag. Branches and tags only. */
  refs: ReadonlyMap<string, string>;
  /** The others, such as refs/pull/1/head. */
  hidden: readonly string[];
  /** The branch that HEAD names, if it exists. */
  defaultBranch: string | undefined;
  /** HEAD names a commit, but no branch. */
  isDetached: boolean;
}

export const branchPrefix = 'refs/heads/';
const tagPrefix = 'refs/tags/';
export const isBranch = (name: string) => name.startsWith(branchPrefix);
const isCopied = (name: string) => isBranch(name) || name.startsWith(tagPrefix);

export function parseRemoteRefs(output: Buffer): RemoteRefs {
  const refs = new Map<string, string>();
  const hidden: string[] = [];
  let head: string | undefined;
  let headId: string | undefined;
  for (const line of output.toString('latin1').split('\n')) {
    const [value = '', name = ''] = line.split('\t');
    if (name === '' || name.endsWith('^{}')) continue;
    if (name === 'HEAD') {
      if (value.startsWith('ref: ')) head = value.slice('ref: '.length);
      else headId = value;
    } else if (!/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(value)) continue;
    else if (isCopied(name)) refs.set(name, value);
    else hidden.push(name);
  }
  const named = head !== undefined && refs.has(head) && isBranch(head);
  return {
    refs,
    hidden,
    defaultBranch: named ? head?.slice(branchPrefix.length) : undefined,
    isDetached: headId !== undefined && head === undefined,
  };
}

/** A name as text. Bytes that are not UTF-8 become U+FFFD. */
export function showRef(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8');
}

/** Whether git can be given the name as an argument, which Node.js encodes as UTF-8. */
export function canBeArgument(name: string): boolean {
  return Buffer.from(showRef(name), 'utf8').equals(Buffer.from(name, 'latin1'));
}

export function listBranches({ refs }: RemoteRefs): string[] {
  return [...refs.keys()].filter(isBranch);
}

const shown = 10;

/** The first names, and how many more there are: `main, dev and 3 more`. */
export function nameSome(names: readonly string[]): string {
  const first = names.slice(0, shown).map((name) => showRef(name).replace(/^refs\/(heads|tags)\//, ''));
  const more = names.length - first.length;
  return more > 0 ? `${first.join(', ')} and ${more} more` : first.join(', ');
}
