/**
 * Lets the one allocation fail for which a process has no memory, before the memory watch has to end the process.
 * prlimit(1) sets the limit (RLIMIT_DATA) and then executes the program. ADR 0086.
 */
import { spawnSync } from 'node:child_process';

const prlimit = '/usr/bin/prlimit';
const bytesOfMegabyte = 1_048_576;
/** What threads and heaps reserve and do not use, besides what Node.js reserves at its start. */
const spareMegabytes = 96;
const probeTimeoutMilliseconds = 120_000;

/** Prints the limit that it has, and the kilobytes that Node.js reserves and does not use. */
const program = `
const { readFileSync } = require('node:fs');
const read = (file, line) => Number(line.exec(readFileSync('/proc/self/' + file, 'latin1'))[1]);
const [data, resident] = [/^VmData:\\s+(\\d+)/m, /^VmRSS:\\s+(\\d+)/m].map((line) => read('status', line));
console.log(read('limits', /^Max data size +(\\d+)/m), Math.max(0, data - resident));
`;

/** Makes the command prefix for a number of megabytes that the memory watch allows. */
export type LimitAllocations = (megabytes: number) => readonly string[];

const launch = (bytes: number) => [prlimit, `--data=${bytes}`, '--'];

/** @throws Error with the reason if it does not work on this machine */
export function createAllocationLauncher(): LimitAllocations {
  const tried = 64 * 1024 * bytesOfMegabyte;
  const [command = '', ...start] = [...launch(tried), process.execPath, '-e', program];
  const { stdout, stderr, error } = spawnSync(command, start, {
    env: {},
    encoding: 'utf8',
    timeout: probeTimeoutMilliseconds,
  });
  const [limit, kilobytes] = (stdout ?? '').trim().split(' ').map(Number);
  if (limit !== tried || kilobytes === undefined)
    throw error ?? new Error(stderr?.trim() || 'prlimit sets no limit');
  const reservedMegabytes = Math.ceil(kilobytes / 1024) + spareMegabytes;
  return (megabytes) => launch((megabytes + reservedMegabytes) * bytesOfMegabyte);
}
