/** Repository migrations: beside the same by hand, and what four of them cost the requests of others. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gitEnvironment } from '../packages/server/testing/git-host.ts';
import { startChild } from './child.ts';
import { type Finding, median, percentile, spread, verdictAtMost } from './finding.ts';
import { type MeasuredServer, removeFolder, startServer, temporaryFolder } from './server-process.ts';
import type { Work } from './work.ts';

const besideMigrations = 4;
/** Often, for an exact end; and as a client would, so that the questions of four are not what is measured. */
const pollMilliseconds = { exact: 20, usual: 250 };
const allowed = { HEADGATE_EGRESS_ALLOW: '127.0.0.0/8', HEADGATE_RATE_LIMIT: 'off' };

interface Host {
  pid: number;
  source: string;
  addTarget(): Promise<string>;
  removeTargets(): Promise<void>;
  stop(): Promise<void>;
}

async function startHost(): Promise<Host> {
  const child = await startChild(new URL('git-host-process.ts', import.meta.url), {}, { ownSession: true });
  return {
    pid: child.pid,
    source: String(child.first),
    addTarget: async () => String(await child.ask('add')),
    removeTargets: async () => void (await child.ask('clear')),
    stop: child.stop,
  };
}

/** Linux may weigh sessions against each other, and the priority of a process only within its session. */
function lowerPriorityOfSession(pid: number): void {
  setPriority(pid, constants.priority.PRIORITY_LOW);
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(constants.priority.PRIORITY_LOW));
  } catch {
    // This system weighs processes only.
  }
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
async function migrate(
  server: MeasuredServer,
  source: string,
  target: string,
  pollMilliseconds: number,
): Promise<number> {
  const { path, began } = await startMigration(server, source, target);
  for (;;) {
    const { status, detail } = await server.call('GET', path);
    if (status === 'COMPLETED') return performance.now() - began;
    if (status === 'FAILED') throw new Error(`the migration failed: ${detail}`);
    await delay(pollMilliseconds);
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

export const migration: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder, allowed), (each) => each.stop());
  const host = ending.adopt(await startHost(), (each) => each.stop());
  const [ours, hands]: [number[], number[]] = [[], []];
  for (let round = 0; round < settings.rounds; round += 1) {
    hands.push(await moveByHand(host.source, await host.addTarget()));
    ours.push(await migrate(server, host.source, await host.addTarget(), pollMilliseconds.exact));
    await host.removeTargets();
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

function readFor(server: MeasuredServer, milliseconds: number): Promise<number[]> {
  const until = performance.now() + milliseconds;
  return readUntil(server, () => performance.now() > until);
}

export const migrationsBeside: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder, allowed), (each) => each.stop());
  const host = ending.adopt(await startHost(), (each) => each.stop());
  // The host would be another machine: its work must not compete with the server's.
  lowerPriorityOfSession(host.pid);
  await readFor(server, settings.milliseconds);
  const found: number[] = [];
  for (let round = 0; round < settings.rounds; round += 1) {
    const idle = await readFor(server, settings.milliseconds);
    const targets: string[] = [];
    while (targets.length < besideMigrations) targets.push(await host.addTarget());
    let isOver = false;
    const { usual } = pollMilliseconds;
    const moving = Promise.all(targets.map((target) => migrate(server, host.source, target, usual))).finally(
      () => {
        isOver = true;
      },
    );
    const beside = await readUntil(server, () => isOver);
    await moving;
    await host.removeTargets();
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
