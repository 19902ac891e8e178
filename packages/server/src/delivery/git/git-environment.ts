/**
 * The environment of git, made from nothing: no configuration of the system, of a user or of a repository
 * decides what git runs or where it connects.
 */

export interface EnvironmentOptions {
  /** The folder of the program. */
  programFolder: string;
  home: string;
  /** The largest pack that git accepts. */
  mostBytes: number;
  /** The transports that git may use. */
  protocols: '' | 'http' | 'file';
}

/**
 * Faults that programs of twenty years ago made, in commits that cannot be changed any more. They endanger nobody: git
 * only warns of them. What endangers a checkout is refused.
 */
const oldFaults = [
  'badTimezone',
  'zeroPaddedFilemode',
  'missingSpaceBeforeDate',
  'badEmail',
  'missingEmail',
  'missingNameBeforeEmail',
  'badName',
  'zeroPaddedDate',
  'badDateOverflow',
] as const;

/** The option of `git index-pack` that checks all objects. */
export const strictOption = `--strict=${oldFaults.map((fault) => `${fault}=warn`).join(',')}`;

/** In force for every call. */
const settings: readonly (readonly [key: string, value: string])[] = [
  ['safe.directory', '*'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.alternateRefsCommand', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['core.askPass', ''],
  ['core.editor', 'false'],
  ['core.pager', 'cat'],
  ['core.sshCommand', 'false'],
  ['core.fsync', 'committed'],
  ['core.quotePath', 'false'],
  ['core.logAllRefUpdates', 'false'],
  // Bounds of memory: a large file is neither compared nor held whole.
  ['core.bigFileThreshold', '16m'],
  ['core.packedGitWindowSize', '32m'],
  ['core.packedGitLimit', '512m'],
  ['core.deltaBaseCacheLimit', '64m'],
  ['pack.threads', '1'],
  ['pack.windowMemory', '128m'],
  ['pack.deltaCacheSize', '64m'],
  ['protocol.version', '2'],
  ['credential.helper', ''],
  ['diff.renameLimit', '1000'],
  ['fetch.fsckObjects', 'true'],
  ['receive.fsckObjects', 'true'],
  ['transfer.fsckObjects', 'true'],
  ...oldFaults.flatMap((fault) =>
    ['fetch', 'receive'].map((program) => [`${program}.fsck.${fault}`, 'warn'] as const),
  ),
  ['fetch.recurseSubmodules', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['submodule.recurse', 'false'],
  ['fetch.writeCommitGraph', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['http.followRedirects', 'false'],
  ['http.proxy', ''],
  ['i18n.logOutputEncoding', 'utf-8'],
  ['init.templateDir', ''],
  ['log.showSignature', 'false'],
  ['receive.autogc', 'false'],
  ['uploadpack.allowFilter', 'true'],
  ['uploadpack.allowAnySHA1InWant', 'false'],
  ['uploadarchive.allowUnreachable', 'false'],
];

export function createGitEnvironment({
  programFolder,
  home,
  mostBytes,
  protocols,
}: EnvironmentOptions): Record<string, string> {
  const all = [...settings, ['receive.maxInputSize', String(mostBytes)] as const];
  const configured = all.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    PATH: [programFolder, '/usr/bin', '/bin'].join(':'),
    HOME: home,
    TMPDIR: home,
    LC_ALL: 'C',
    TZ: 'UTC',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    GIT_ALLOW_PROTOCOL: protocols,
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ADVICE: '0',
    GIT_CONFIG_COUNT: String(all.length),
    ...Object.fromEntries(configured),
  };
}
