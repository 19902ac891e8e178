/** What can be read from and written to a bare repository. */

export interface Person {
  name: string;
  email: string;
  /** UTC. */
  at: Date;
}

export interface Commit {
  /** 40 hexadecimal digits. */
  commitId: string;
  treeId: string;
  parentIds: readonly string[];
  author: Person;
  committer: Person;
  /** Valid Unicode; other bytes are replaced by U+FFFD. */
  message: string;
}

export interface Ref {
  /** The full name, such as refs/heads/main. */
  name: string;
  /** The id of the object that it names: for an annotated tag, of the tag. */
  objectId: string;
  /** The commit of an annotated tag. */
  peeledId?: string;
}

export type EntryKind = 'file' | 'executable' | 'link' | 'folder' | 'submodule';

export interface TreeEntry {
  /** Relative to the root of the tree. */
  path: string;
  /** False if the path is not UTF-8; then `path` has U+FFFD for the bytes that are not. */
  isText: boolean;
  kind: EntryKind;
  objectId: string;
  /** Undefined for folders and submodules. */
  size?: number;
}

export type ChangeKind = 'added' | 'deleted' | 'modified' | 'renamed' | 'type-changed';

export interface FileChange {
  kind: ChangeKind;
  path: string;
  /** Of a renamed file. */
  earlierPath?: string;
  earlierId?: string;
  objectId?: string;
  additions?: number;
  deletions?: number;
  isBinary: boolean;
}

export interface Difference {
  files: readonly FileChange[];
  /** A unified diff; cut at whole files if `mostBytes` is exceeded. */
  patch: string;
  isCut: boolean;
}

export interface FileWrite {
  path: string;
  /** Undefined: the file is deleted. */
  content: Uint8Array | undefined;
  executable?: boolean;
}

export interface CommitWrite {
  /** Without refs/heads/. */
  branch: string;
  /** The commit that the branch must be at; null: the branch must not exist. */
  expectedHead: string | null;
  files: readonly FileWrite[];
  message: string;
  author: { name: string; email: string };
  at: Date;
}

export interface WrittenCommit {
  commitId: string;
  /** False: the files are those of `expectedHead`. */
  isChange: boolean;
}

/** One use of a bare repository. Ids and names that a caller gives are checked: an unknown one is undefined. */
export interface GitRepository {
  readonly folder: string;
  /** @param name a branch, a tag, a full ref name or a commit id (4 to 40 digits) */
  findCommitId(name: string): Promise<string | undefined>;
  /** Types of objects by their ids; what is missing has none. */
  readTypes(objectIds: readonly string[]): Promise<Map<string, string>>;
  readCommit(commitId: string): Promise<Commit | undefined>;
  /** Newest first. */
  listCommits(from: string, page: { most: number; skip?: number; path?: string }): Promise<Commit[]>;
  countCommits(range: { from: string; without?: string; most: number }): Promise<number>;
  findMergeBase(one: string, other: string): Promise<string | undefined>;
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
  /** Whether a branch or tag contains the commit. */
  isReachable(commitId: string): Promise<boolean>;
  /** Sorted by name. @param prefixes such as refs/heads/ */
  listRefs(prefixes: readonly string[]): Promise<Ref[]>;
  /** The branch that HEAD names, whether it exists or not. */
  readDefaultBranch(): Promise<string | undefined>;
  writeDefaultBranch(branch: string): Promise<void>;
  /** All files below, or the entries of one folder. @throws `git-answer-too-large` */
  listTree(commitId: string, of: { recursive: boolean; path?: string }): Promise<TreeEntry[]>;
  /** The entry of one path, of any kind. */
  findEntry(commitId: string, path: string): Promise<TreeEntry | undefined>;
  /**
   * In the order of the ids. With `long` it takes a turn of those, for a reader that may be slow.
   * @throws `git-answer-too-large` if one is larger than `mostBytes`
   */
  readBlobs(objectIds: readonly string[], mostBytes: number, kind?: 'long'): AsyncIterable<Buffer>;
  diffCommits(from: string, to: string, mostBytes: number): Promise<Difference>;
  /** Files that differ, without contents. */
  listChanges(from: string, to: string): Promise<FileChange[]>;
  /** Writes a commit to which nothing points yet. @throws `invalid-repository-file`, `repository-too-large` */
  writeCommitObject(write: Omit<CommitWrite, 'branch'>): Promise<WrittenCommit>;
  /**
   * Writes a commit and moves the branch to it.
   * @returns undefined if the branch is no longer at `expectedHead`; nothing was moved then
   */
  writeCommit(write: CommitWrite): Promise<string | undefined>;
  /**
   * Moves, creates (`from` null) or deletes (`to` null) refs, all or none. @returns false if one is not where it should
   * be
   * @throws `ref-refused` with git's words, such as for a branch below the name of another one
   */
  updateRefs(updates: readonly { name: string; from: string | null; to: string | null }[]): Promise<boolean>;
}

export interface RepositoryUse {
  folder: string;
  accountId: string;
  signal?: AbortSignal | undefined;
  /** As in GitCall, for all calls. */
  kind?: 'short' | 'long';
  isBackground?: boolean;
  timeoutMilliseconds?: number;
  /** What all objects may have on disk when a commit is written. */
  mostBytes?: number;
  /** Added to the environment of git. */
  environment?: Readonly<Record<string, string>>;
}
