/** gitolite of Debian over HTTP: its shell runs as CGI, and knows each user by name. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';
import { gitEnvironment, serveCgi } from './git-host.ts';

const shell = '/usr/share/gitolite3/gitolite-shell';

export function hasGitolite(): boolean {
  return existsSync(shell) && spawnSync('gitolite', ['--help'], { stdio: 'ignore' }).error === undefined;
}

export interface GitoliteHost {
  url: string;
  /** The folder of a repository. */
  findFolder(name: string): string;
  close(): Promise<void>;
}

/**
 * @param rules of gitolite.conf. The user of a request is the password that it shows
 */
export async function startGitoliteHost(rules: string): Promise<GitoliteHost> {
  const home = mkdtempSync(join(tmpdir(), 'gitolite-'));
  const environment = {
    ...gitEnvironment,
    HOME: home,
    GITOLITE_HTTP_HOME: home,
    USER: 'git',
    LOGNAME: 'git',
    GIT_PROJECT_ROOT: join(home, 'repositories'),
  };
  const run = (...args: string[]) => execFileSync('gitolite', args, { env: environment, stdio: 'pipe' });
  run('setup', '-a', 'operator');
  const conf = join(home, '.gitolite/conf/gitolite.conf');
  writeFileSync(conf, `${readFileSync(conf, 'utf8')}\n${rules}\n`);
  run('compile');
  run('trigger', 'POST_COMPILE');
  const listening = await listenOnLoopback((request, response) => {
    const [, pair = ''] = (request.headers.authorization ?? '').split(' ');
    const [, user = ''] = Buffer.from(pair, 'base64').toString().split(':');
    if (user === '') {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="gitolite"' }).end();
      return;
    }
    serveCgi({ program: [shell], environment: { ...environment, REMOTE_USER: user } }, request, response);
  });
  return {
    url: `http://127.0.0.1:${listening.port}`,
    findFolder: (name) => join(home, 'repositories', `${name}.git`),
    async close() {
      await listening.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
