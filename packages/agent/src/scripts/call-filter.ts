/**
 * The seccomp filter of scripts. It refuses system calls that lead around the sandbox: new namespaces, in
 * which a script could mount disks without a limit, memory that no limit counts, keys and tracing. Sockets
 * are those of the internet; without network also unix sockets, which then reach only the script itself.
 * ADR 0044.
 */
import {
  allow,
  answer,
  architectureOffset,
  auditArchitectures,
  EACCES,
  ENOSYS,
  EPERM,
  encodeInstruction,
  failWith,
  firstArgumentOffset,
  jumpIfAnyBit,
  jumpIfAtLeast,
  jumpIfEqual,
  killProcess,
  load,
  numberOffset,
  x32Bit,
} from '../confinement/bpf.ts';
import { findSystemCalls } from './system-calls.ts';

/** The CLONE_NEW* flags of linux/sched.h. */
const newNamespaces = 0x7e020000;
/** Address families of linux/socket.h. The C library reads addresses of interfaces by netlink. */
const families = { unix: 1, inet: 2, inet6: 10, netlink: 16 };

/** Undefined on an unknown architecture. */
export function encodeCallFilter(
  network: boolean,
  architecture: NodeJS.Architecture = process.arch,
): Buffer | undefined {
  const calls = findSystemCalls(architecture);
  const audit = auditArchitectures[architecture];
  if (calls === undefined || audit === undefined) return undefined;
  const { clone, clone3, socket } = calls.filtered;
  const { unix, ...internet } = families;
  return Buffer.concat([
    encodeInstruction(load, architectureOffset),
    ...unless(audit, killProcess),
    encodeInstruction(load, numberOffset),
    encodeInstruction(jumpIfAtLeast, x32Bit, 0, 1),
    encodeInstruction(answer, failWith(EPERM)),
    ...calls.refused.flatMap((call) => when(call, [encodeInstruction(answer, failWith(EPERM))])),
    // Its flags are in memory, which a filter cannot read. The C library then uses clone.
    ...when(clone3, [encodeInstruction(answer, failWith(ENOSYS))]),
    ...when(clone, [
      encodeInstruction(load, firstArgumentOffset),
      encodeInstruction(jumpIfAnyBit, newNamespaces, 0, 1),
      encodeInstruction(answer, failWith(EPERM)),
      encodeInstruction(answer, allow),
    ]),
    ...when(socket, [
      encodeInstruction(load, firstArgumentOffset),
      ...Object.values(network ? internet : families).flatMap((family) =>
        when(family, [encodeInstruction(answer, allow)]),
      ),
      encodeInstruction(answer, failWith(EACCES)),
    ]),
    encodeInstruction(answer, allow),
  ]);
}

/** Runs the instructions if the loaded value is `value`. */
function when(value: number, instructions: readonly Buffer[]): Buffer[] {
  return [encodeInstruction(jumpIfEqual, value, 0, instructions.length), ...instructions];
}

function unless(value: number, result: number): Buffer[] {
  return [encodeInstruction(jumpIfEqual, value, 1, 0), encodeInstruction(answer, result)];
}
