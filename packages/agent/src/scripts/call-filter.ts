/**
 * The seccomp filter of scripts. It refuses system calls that lead around the sandbox: new namespaces, in
 * which a script could mount disks without a limit, memory that no limit counts, sessions, of which each gets
 * a share of the processors, keys and tracing, and what counts for the agent's user, such as epoll. Sockets
 * are those of the internet; without network also unix sockets, which then reach only the script itself.
 * ADR 0044, ADR 0082.
 */
import {
  allow,
  answer,
  architectureOffset,
  auditArchitectures,
  EACCES,
  EINVAL,
  ENOSYS,
  EPERM,
  encodeInstruction,
  failWith,
  firstArgumentOffset,
  fourthArgumentOffset,
  jumpIfAnyBit,
  jumpIfAtLeast,
  jumpIfEqual,
  killProcess,
  load,
  numberOffset,
  secondArgumentOffset,
  thirdArgumentOffset,
  x32Bit,
} from '../confinement/bpf.ts';
import { findSystemCalls } from './system-calls.ts';

/** The CLONE_NEW* flags of linux/sched.h. */
const newNamespaces = 0x7e020000;
/** linux/mman.h and asm-generic/hugetlb_encode.h, the same on both architectures. */
const memory = { shared: 0x01, anonymous: 0x20, hugePages: 0x40000 };
/** F_OFD_SETLK and F_OFD_SETLKW of linux/fcntl.h, whose locks the kernel lists without their owner. */
const locksWithoutOwner = [37, 38];
/** asm-generic/socket.h. */
const socketLevel = 1;
const sendBufferSize = 7;
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
  const { clone, fcntl, mmap, setsockopt, socket } = calls.filtered;
  const { unix, ...internet } = families;
  return Buffer.concat([
    encodeInstruction(load, architectureOffset),
    ...unless(audit, killProcess),
    encodeInstruction(load, numberOffset),
    encodeInstruction(jumpIfAtLeast, x32Bit, 0, 1),
    encodeInstruction(answer, failWith(EPERM)),
    ...Object.values(calls.refused).flatMap((call) =>
      when(call, [encodeInstruction(answer, failWith(EPERM))]),
    ),
    ...Object.values(calls.absent).flatMap((call) =>
      when(call, [encodeInstruction(answer, failWith(ENOSYS))]),
    ),
    ...when(clone, [
      encodeInstruction(load, firstArgumentOffset),
      encodeInstruction(jumpIfAnyBit, newNamespaces, 0, 1),
      encodeInstruction(answer, failWith(EPERM)),
      encodeInstruction(answer, allow),
    ]),
    ...when(fcntl, [
      encodeInstruction(load, secondArgumentOffset),
      ...locksWithoutOwner.flatMap((command) => when(command, [encodeInstruction(answer, failWith(EINVAL))])),
      encodeInstruction(answer, allow),
    ]),
    // Pages of these stay without being resident in any process, so that the watch does not see them.
    ...when(mmap, [
      encodeInstruction(load, fourthArgumentOffset),
      encodeInstruction(jumpIfAnyBit, memory.hugePages, 2, 0),
      encodeInstruction(jumpIfAnyBit, memory.anonymous, 0, 2),
      encodeInstruction(jumpIfAnyBit, memory.shared, 0, 1),
      encodeInstruction(answer, failWith(EPERM)),
      encodeInstruction(answer, allow),
    ]),
    // The watch counts each socket with a buffer of the default size. A program may not count on another one:
    // the kernel cuts the size, too.
    ...when(setsockopt, [
      encodeInstruction(load, secondArgumentOffset),
      encodeInstruction(jumpIfEqual, socketLevel, 0, 3),
      encodeInstruction(load, thirdArgumentOffset),
      encodeInstruction(jumpIfEqual, sendBufferSize, 0, 1),
      encodeInstruction(answer, failWith(0)),
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
