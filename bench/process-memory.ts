/** The memory of the local agent and its processes. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

/**
 * Proportional set size: memory that several processes share, such as the code of Node.js, counts once. RSS
 * would count it for each process.
 */
function readMebibytes(pid: number): number {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
    return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) / 1_024;
  } catch {
    // It ended meanwhile.
    return 0;
  }
}

function listDescendants(pid: number): number[] {
  const children: number[] = [];
  try {
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1');
      children.push(...text.split(' ').filter(Boolean).map(Number));
    }
  } catch {
    return [];
  }
  return children.flatMap((child) => [child, ...listDescendants(child)]);
}

/** The Node.js processes below the server: the agent and its processes. */
export function listAgentProcesses(serverPid: number): number[] {
  return listDescendants(serverPid).filter((pid) => {
    try {
      const [program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
      // By its name: the path of the embedded PostgreSQL has `node_modules` in it.
      return basename(program) === 'node';
    } catch {
      return false;
    }
  });
}

export interface ProcessMemory {
  mebibytes: number;
  description: string;
}

/** @param serverPid the server, whose agent is meant. PostgreSQL is not part of it */
export function measureProcesses(serverPid: number): ProcessMemory {
  const ofAgent = listAgentProcesses(serverPid);
  const sizes = ofAgent.map(readMebibytes);
  const mebibytes = sizes.reduce((sum, size) => sum + size, 0);
  const shown = sizes.map((size) => size.toFixed(0)).join(' + ');
  return { mebibytes, description: `agent and ${ofAgent.length - 1} processes: ${shown} MiB` };
}
