/** Tests whether a launcher keeps a program to its folders, with a program that tries to get out. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FolderRules } from './folder-rules.ts';

/** Bounds a hang: a busy machine is no reason to go on without confinement. */
const probeTimeoutMilliseconds = 120_000;

/** Says what it may do. DuckDB is loaded because it needs more of the system than Node.js. */
const program = `
import { readFileSync, writeFileSync } from 'node:fs';
const [own, other] = process.argv.slice(1);
const tries = {
  'reads its folder': () => readFileSync(own + '/file'),
  'writes its folder': () => writeFileSync(own + '/written', ''),
  'reads another folder': () => readFileSync(other + '/file'),
  'writes another folder': () => writeFileSync(other + '/written', ''),
};
const done = (task) => { try { task(); return true } catch { return false } };
const answers = Object.keys(tries).filter((name) => done(tries[name]));
await import(${JSON.stringify(import.meta.resolve('@duckdb/node-api'))});
console.log(answers.join(', '));
`;
const expected = 'reads its folder, writes its folder';

/** @returns undefined if it does, else the reason */
export function findFolderFault(
  launch: (rules: FolderRules) => readonly string[] | undefined,
): string | undefined {
  const root = mkdtempSync(join(tmpdir(), 'headgate-probe-'));
  try {
    const [own, other] = [join(root, 'own'), join(root, 'other')];
    for (const folder of [own, other]) {
      mkdirSync(folder);
      writeFileSync(join(folder, 'file'), '');
    }
    const launcher = launch({ readable: [], writable: [own] });
    if (launcher === undefined) return `not on ${process.arch}`;
    const [command = '', ...start] = [...launcher, process.execPath];
    const { stdout, stderr, error } = spawnSync(
      command,
      [...start, '--input-type=module', '-e', program, own, other],
      { env: { HOME: own, TMPDIR: own }, cwd: own, encoding: 'utf8', timeout: probeTimeoutMilliseconds },
    );
    const answer = stdout?.trim() ?? '';
    if (answer === expected) return undefined;
    return answer || error?.message || stderr.trim().split('\n').at(-1) || 'the probe says nothing';
  } finally {
    rmSync(root, { recursive: true });
  }
}
