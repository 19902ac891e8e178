/** Finds the git program and the means of the operating system to confine it. */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';

const oldest = [2, 30] as const;
const usualFolders = ['/usr/bin', '/usr/local/bin', '/bin', '/opt/homebrew/bin'];
/** Bounds a hang: a slow machine must not lose a means to confine git. */
const probeMilliseconds = 60_000;
const mostProcessorSeconds = 900;
const mostAddressBytes = 4 * 1_073_741_824;

/** A user to run git as. */
export interface GitUser {
  name: string;
  uid: number;
  gid: number;
}

export interface GitProgram {
  path: string;
  version: string;
  /** The words before the path of git: without network, and with it. */
  launcher: Record<'closed' | 'open', readonly string[]>;
  /** What the operating system could not do, for the log. */
  lacks: readonly string[];
}

/** @returns the program, or why it cannot be used */
export async function findGitProgram(
  searchPath: string | undefined,
  user: GitUser | undefined,
  mostFileBytes: number,
): Promise<GitProgram | { fault: string }> {
  const folders = [...(searchPath ?? '').split(':').filter(isAbsolute), ...usualFolders];
  const path = findIn(folders, 'git');
  if (path === undefined)
    return { fault: 'the program git is not installed; install git 2.30 or later, then restart the server' };
  const output = await run(path, ['--version']);
  const version = /^git version (\d+\.\d+[\w.]*)/.exec(output ?? '')?.[1];
  if (version === undefined) return { fault: `${path} --version does not say the version of git` };
  if (isOlder(version))
    return {
      fault: `${path} is git ${version}; install git ${oldest.join('.')} or later, then restart the server`,
    };
  return { path, version, ...(await findLaunchers(folders, path, user, mostFileBytes)) };
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < oldest[0] || (major === oldest[0] && minor < oldest[1]);
}

function findIn(folders: readonly string[], name: string): string | undefined {
  return folders
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

async function run(program: string, args: readonly string[]): Promise<string | undefined> {
  try {
    const options = { timeout: probeMilliseconds, env: { PATH: usualFolders.join(':') }, cwd: '/' };
    return (await promisify(execFile)(program, [...args], options)).stdout;
  } catch {
    return undefined;
  }
}

/**
 * Tries each part with git itself. `setpriv` ends git with the server and takes its rights; `prlimit` bounds
 * memory, processor time and files; `unshare` takes the network from what never needs it.
 */
async function findLaunchers(
  folders: readonly string[],
  git: string,
  user: GitUser | undefined,
  mostFileBytes: number,
): Promise<Pick<GitProgram, 'launcher' | 'lacks'>> {
  const lacks: string[] = [];
  async function find(what: string, name: string, choices: readonly (readonly string[])[]) {
    const program = findIn(folders, name);
    for (const choice of program === undefined ? [] : choices) {
      const words = [program as string, ...choice, '--'];
      if ((await run(words[0] as string, [...words.slice(1), git, '--version'])) !== undefined) return words;
    }
    lacks.push(what);
    return [];
  }
  const ofUser = user === undefined ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  const owned = ['--no-new-privs', '--pdeathsig=KILL', ...ofUser];
  const rights = await find('setpriv: git does not end with the server', 'setpriv', [owned]);
  const limits = await find('prlimit: git has no limits of memory and processor time', 'prlimit', [
    [`--as=${mostAddressBytes}`, `--cpu=${mostProcessorSeconds}`, `--fsize=${mostFileBytes}`, '--core=0'],
  ]);
  const network = await find('unshare: git that reads repositories has network', 'unshare', [
    ['--net'],
    ['--user', '--map-current-user', '--net'],
  ]);
  const open = [...rights, ...limits];
  return { launcher: { closed: [...network, ...open], open }, lacks };
}
