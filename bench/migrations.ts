/** Repository migrations: beside the same by hand, and what four of them cost the requests of others. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  commitFiles,
  type GitHost,
  gitEnvironment,
  type HostedOnHost,
  runGit,
  startGitHost,
} from '../packages/server/src/testing/git-host.ts';
import { type Finding, median, percentile, spread, verdictAtMost } from './finding.ts';
import { type MeasuredServer, removeFolder, startServer, temporaryFolder } from './server-process.ts';
import type { Work } from './work.ts';

const files = 40;
const fileBytes = 500_000;
const tags = 450;
const branches = 50;
const besideMigrations = 4;
const allowed = { HEADGATE_EGRESS_ALLOW: '127.0.0.0/8', HEADGATE_RATE_LIMIT: 'off' };

/** 500 refs and 20 MB that do not compress. */
function fill({ folder }: HostedOnHost): void {
  for (let file = 0; file < files; file += 1)
    commitFiles(folder, { files: { [`data/${file}.bin`]: randomBytes(fileBytes) } });
  const head = runGit(folder, ['rev-parse', 'main']).trim();
  const refs = [
    ...Array.from({ length: tags }, (_, number) => `create refs/tags/v${number} ${head}\n`),
    ...Array.from({ length: branches - 1 }, (_, number) => `create refs/heads/b${number} ${head}\n`),
  ];
  runGit(folder, ['update-ref', '--stdin'], refs.join(''));
  runGit(folder, ['repack', '-adq']);
}

let projects = 0;

async function startMigration(server: MeasuredServer, source: string, target: string) {
  projects += 1;
  const made = await server.call('POST', '/projects', {
    name: `moved ${projects}`,
    agentDeploymentType: 'HYBRID',
  });
  const path = `/projects/${made.projectId}`;
  await server.call('POST', `${path}/repositories`, {
    provider: 'git',
    repositoryName: 'source',
    cloneUrl: source,
  });
  const began = performance.now();
  const { migrationId } = await server.call('POST', `${path}/repository-migration`, {
    mode: 'MIRROR_PUSH',
    targetCloneUrl: target,
    targetProvider: 'github',
    targetName: 'target',
  });
  return { path: `${path}/repository-migration/${migrationId}`, began };
}

/** Returns its milliseconds. */
async function migrate(server: MeasuredServer, source: string, target: string): Promise<number> {
  const { path, began } = await startMigration(server, source, target);
  for (;;) {
    const { status, detail } = await server.call('GET', path);
    if (status === 'COMPLETED') return performance.now() - began;
    if (status === 'FAILED') throw new Error(`the migration failed: ${detail}`);
    await delay(20);
  }
}

/** Returns its milliseconds. */
async function moveByHand(source: string, target: string): Promise<number> {
  const folder = temporaryFolder();
  const git = (cwd: string, ...args: string[]) =>
    promisify(execFile)('git', args, { cwd, env: gitEnvironment });
  try {
    const began = performance.now();
    await git(folder, 'clone', '--quiet', '--mirror', source, 'mirror.git');
    await git(join(folder, 'mirror.git'), 'push', '--quiet', '--mirror', target);
    return performance.now() - began;
  } finally {
    removeFolder(folder);
  }
}

let targets = 0;
function addTarget(host: GitHost): HostedOnHost {
  targets += 1;
  return host.addRepository(`target-${targets}.git`);
}

export const migration: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder, allowed), (each) => each.stop());
  const host = ending.adopt(await startGitHost(), (each) => each.close());
  const source = host.addRepository('source.git');
  fill(source);
  const [ours, hands]: [number[], number[]] = [[], []];
  for (let round = 0; round < settings.rounds; round += 1) {
    const made = [addTarget(host), addTarget(host)] as const;
    hands.push(await moveByHand(source.cloneUrl, made[0].cloneUrl));
    ours.push(await migrate(server, source.cloneUrl, made[1].cloneUrl));
    for (const { folder } of made) rmSync(folder, { recursive: true });
  }
  const ratios = ours.map((each, round) => each / (hands[round] ?? Number.NaN));
  console.log(`  ${spread(ours, 0)} ms, by hand ${spread(hands, 0)} ms`);
  return [
    {
      work: 'migration: MIRROR_PUSH of 500 refs and 20 MB, beside clone --mirror and push by hand',
      measured: `${spread(ratios)} times the time`,
      limit: '≤ 1.3 times',
      verdict: verdictAtMost(median(ratios), 1.3),
      rounds: ratios,
    },
  ];
};

/** Reads one after the other, and returns the milliseconds of each. */
async function readUntil(server: MeasuredServer, isOver: () => boolean): Promise<number[]> {
  const latencies: number[] = [];
  while (!isOver()) {
    const began = performance.now();
    await server.call('GET', '/projects?size=10');
    latencies.push(performance.now() - began);
  }
  return latencies;
}

export const migrationsBeside: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder, allowed), (each) => each.stop());
  const host = ending.adopt(await startGitHost(), (each) => each.close());
  const source = host.addRepository('source.git');
  fill(source);
  const found: number[] = [];
  for (let round = 0; round < settings.rounds; round += 1) {
    const until = performance.now() + settings.milliseconds;
    const idle = await readUntil(server, () => performance.now() > until);
    const made = Array.from({ length: besideMigrations }, () => addTarget(host));
    let isOver = false;
    const moving = Promise.all(
      made.map(({ cloneUrl }) => migrate(server, source.cloneUrl, cloneUrl)),
    ).finally(() => {
      isOver = true;
    });
    const beside = await readUntil(server, () => isOver);
    await moving;
    for (const { folder } of made) rmSync(folder, { recursive: true });
    found.push(percentile(beside, 0.99) / percentile(idle, 0.99));
  }
  const finding: Finding = {
    work: `migrations-beside: p99 of a read while ${besideMigrations} migrations run, beside an idle server`,
    measured: `${spread(found)} times`,
    limit: '≤ 2 times',
    verdict: verdictAtMost(median(found), 2),
    rounds: found,
  };
  return [finding];
};
