/** `git http-backend` behind nginx and fcgiwrap: what a hosted repository is compared with. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './server-process.ts';

const programs = { nginx: '/usr/sbin/nginx', fcgiwrap: '/usr/sbin/fcgiwrap' } as const;
const startMilliseconds = 10_000;

export interface NginxGit {
  /** Of the folder `root`, without a slash at the end. */
  url: string;
  stop(): void;
}

/** The Debian packages that are missing. */
export function findMissingPackages(): string[] {
  const missing: string[] = [];
  if (!existsSync(programs.nginx)) missing.push('nginx-light');
  if (!existsSync(programs.fcgiwrap)) missing.push('fcgiwrap');
  return missing;
}

/** @param root the folder that has the bare repositories */
export async function startNginxGit(root: string, folder: string): Promise<NginxGit> {
  const port = await freePort();
  const socket = join(folder, 'cgi.socket');
  const backend = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');
  mkdirSync(join(folder, 'nginx'));
  const file = join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/nginx/${name};`,
  );
  writeFileSync(
    file,
    `daemon off; user root; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log; worker_processes 1; events {}
     http { access_log off; ${temporary.join(' ')} client_max_body_size 0;
       server { listen 127.0.0.1:${port};
         location / {
           fastcgi_pass unix:${socket}; fastcgi_param SCRIPT_FILENAME ${backend};
           fastcgi_param GIT_PROJECT_ROOT ${root}; fastcgi_param GIT_HTTP_EXPORT_ALL ""; fastcgi_param PATH_INFO $uri;
           fastcgi_param QUERY_STRING $query_string; fastcgi_param REQUEST_METHOD $request_method;
           fastcgi_param CONTENT_TYPE $content_type; fastcgi_param CONTENT_LENGTH $content_length; } } }`,
  );
  const children: ChildProcess[] = [
    spawn(programs.fcgiwrap, ['-c', '4', '-s', `unix:${socket}`], { stdio: 'ignore', detached: true }),
    spawn(programs.nginx, ['-c', file], { stdio: 'ignore', detached: true }),
  ];
  const url = `http://127.0.0.1:${port}`;
  const stop = () => {
    // Their process groups: fcgiwrap leaves its workers otherwise.
    for (const { pid, exitCode } of children) if (pid !== undefined && exitCode === null) process.kill(-pid);
  };
  const end = performance.now() + startMilliseconds;
  while (
    !(await fetch(url).then(
      () => existsSync(socket),
      () => false,
    ))
  ) {
    if (performance.now() > end) {
      stop();
      throw new Error(`nginx did not start: see ${folder}/nginx.log`);
    }
    await delay(50);
  }
  return { url, stop };
}
