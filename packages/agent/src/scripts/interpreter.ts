/** Finds the Python interpreter of scripts, and the folders that it needs. */
import { execFile } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { getReason } from '../log.ts';

const systemPythons = ['/usr/local/bin/python3', '/usr/bin/python3'];

export type Interpreter = { path: string; version: string; folders: readonly string[] } | { fault: string };

/** @param path the agent's setting; undefined: the system's */
export async function findPython(path: string | undefined): Promise<Interpreter> {
  const found = path ?? systemPythons.find((each) => existsSync(each));
  if (found === undefined)
    return {
      fault: `there is no ${systemPythons.join(' or ')}: install Python 3.9 or later, or set HEADGATE_AGENT_SCRIPT_PYTHON`,
    };
  try {
    const { version, folders } = await askPython(found);
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major < 3 || (major === 3 && minor < 9))
      return { fault: `${found} is Python ${version}: install Python 3.9 or later` };
    return { path: found, version, folders };
  } catch (error) {
    return {
      fault: `${found} cannot be run (${getReason(error).split('\n').at(-1)}): install Python 3.9 or later`,
    };
  }
}

/**
 * The sandbox shows /usr whole. The others hold more than an interpreter: Python that is called as
 * /bin/python3 says that its folder is `/`.
 */
const alwaysOrNeverShown =
  /^\/usr(?:\/|$)|^\/(?:s?bin|lib\w*|boot|dev|etc|home|mnt|opt|proc|root|run|srv|sys|tmp|var)?$/;

const question =
  'import json,sys;print(json.dumps({"version":"%d.%d.%d"%sys.version_info[:3],"prefixes":[sys.prefix,sys.base_prefix,sys.exec_prefix]}))';

/** A busy machine is no reason to turn scripts off. */
const answerMilliseconds = 600_000;

async function askPython(path: string): Promise<{ version: string; folders: string[] }> {
  const { stdout } = await promisify(execFile)(path, ['-I', '-c', question], {
    timeout: answerMilliseconds,
    env: {},
  });
  const { version, prefixes } = JSON.parse(stdout) as { version: string; prefixes: string[] };
  const folders = [
    ...prefixes,
    ...prefixes.map((prefix) => realpathSync(prefix)),
    dirname(realpathSync(path)),
  ];
  return { version, folders: [...new Set(folders)].filter((folder) => !alwaysOrNeverShown.test(folder)) };
}
