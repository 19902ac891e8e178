/** A clone of a repository of 20 MB that is hosted here, compared with `git http-backend` under nginx. */
import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { findMissingPackages, startNginxGit } from './nginx-git.ts';
import { removeFolder, startServer, temporaryFolder } from './server-process.ts';
import type { Work } from './work.ts';

const commits = 20;
const filesOfCommit = 20;
const fileBytes = 50_000;
const most = 1.2;
const warmUps = 2;
/** A clone takes half a second; one alone varies too much. */
const clonesOfRound = 3;

const environment = {
  ...process.env,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
};

export const cloneHere: Work = async ({ rounds, profileFolder }): Promise<Finding[]> => {
  const missing = findMissingPackages();
  if (missing.length > 0) throw new Error(`This comparison needs the Debian packages ${missing.join(', ')}.`);
  await using ending = new AsyncDisposableStack();
  const folder = temporaryFolder();
  ending.defer(() => removeFolder(folder));
  const server = ending.adopt(await startServer(profileFolder), (started) => started.stop());
  const project = { name: 'clones', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const { projectId } = await server.call('POST', '/projects', project);
  const repository = { provider: 'headgate', repositoryName: 'clones', providerParameters: {} };
  await server.call('POST', `/projects/${projectId}/repositories`, repository);
  const here = `http://token:${server.token}@127.0.0.1:${server.port}/git/${projectId}.git`;
  const tree = makeTree(folder);
  execFileSync('git', ['push', '-q', here, 'main'], { cwd: tree, env: environment });
  const root = join(folder, 'root');
  mkdirSync(root);
  execFileSync('git', ['clone', '-q', '--bare', here, join(root, 'clones.git')], { env: environment });
  const nginx = ending.adopt(await startNginxGit(root, folder), (started) => started.stop());

  const clone = async (url: string): Promise<number> => {
    const target = join(folder, 'clone');
    const begun = performance.now();
    await promisify(execFile)('git', ['clone', '-q', '--bare', url, target], { env: environment });
    const milliseconds = performance.now() - begun;
    rmSync(target, { recursive: true });
    return milliseconds;
  };
  const measure = async (url: string): Promise<number> => {
    const times: number[] = [];
    for (let count = 0; count < clonesOfRound; count += 1) times.push(await clone(url));
    return median(times);
  };
  const there = `${nginx.url}/clones.git`;
  for (let count = 0; count < warmUps; count += 1) for (const url of [here, there]) await clone(url);
  const ratios: number[] = [];
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const peer = await measure(there);
    const own = await measure(here);
    times.push(own);
    ratios.push(own / peer);
  }
  return [
    {
      work: `a clone of 20 MB from here (${median(times).toFixed(0)} ms), against git http-backend under nginx`,
      measured: `${spread(ratios)} × the time`,
      limit: `≤ ${most} × the time`,
      verdict: verdictAtMost(median(ratios), most),
      rounds: ratios,
    },
  ];
};

/** Files of random bytes, which do not compress. */
function makeTree(folder: string): string {
  const tree = join(folder, 'tree');
  const run = (...args: string[]) => execFileSync('git', args, { cwd: tree, env: environment });
  mkdirSync(tree);
  run('init', '-q', '-b', 'main');
  for (let commit = 0; commit < commits; commit += 1) {
    mkdirSync(join(tree, `folder-${commit}`));
    for (let file = 0; file < filesOfCommit; file += 1)
      writeFileSync(join(tree, `folder-${commit}`, `file-${file}`), randomBytes(fileBytes));
    run('add', '-A');
    run('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-q', '-m', `commit ${commit}`);
  }
  return tree;
}
