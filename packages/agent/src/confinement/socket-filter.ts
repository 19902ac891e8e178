/**
 * A seccomp filter that prevents a process from opening sockets: `socket` and `io_uring_setup` fail with
 * EACCES, and a system call of another architecture kills the process. Open sockets, such as the IPC channel,
 * keep working. The filter needs no privilege and no namespace, so it works in containers. Perl installs it
 * and then executes the program: Perl is part of Debian and Ubuntu and can make any system call, while Node
 * cannot. ADR 0029.
 */

import {
  allow,
  answer,
  architectureOffset,
  auditArchitectures,
  EACCES,
  encodeInstruction,
  failWith,
  jumpIfAtLeast,
  jumpIfEqual,
  killProcess,
  load,
  numberOffset,
  x32Bit,
} from './bpf.ts';

/** Numbers of system calls. */
const calls: Readonly<Partial<Record<NodeJS.Architecture, { prctl: number; socket: number }>>> = {
  x64: { prctl: 157, socket: 41 },
  arm64: { prctl: 167, socket: 198 },
};
/** The same on all architectures. */
const ioUringSetup = 425;

/** prctl(PR_SET_NO_NEW_PRIVS, 1), prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter), exec. */
const perlProgram = `
my ($prctl, $filter, @command) = @ARGV;
my $program = pack 'H*', $filter;
my $pointer = pack 'S x![P] P', length($program) / 8, $program;
syscall($prctl + 0, 38, 1, 0, 0, 0) == 0 or die "no_new_privs: $!\\n";
syscall($prctl + 0, 22, 2, $pointer, 0, 0) == 0 or die "seccomp: $!\\n";
exec { $command[0] } @command or die "exec: $!\\n";
`;

export function prctlNumber(architecture: NodeJS.Architecture): number | undefined {
  return calls[architecture]?.prctl;
}

/** The command prefix that starts a program without sockets; undefined on an unknown architecture. */
export function createSocketFilterLauncher(
  architecture: NodeJS.Architecture = process.arch,
): readonly string[] | undefined {
  const [known, audit] = [calls[architecture], auditArchitectures[architecture]];
  if (known === undefined || audit === undefined) return undefined;
  const filter = encodeFilter(audit, known.socket).toString('hex');
  return ['/usr/bin/perl', '-e', perlProgram, '--', String(known.prctl), filter];
}

function encodeFilter(audit: number, socket: number): Buffer {
  return Buffer.concat([
    encodeInstruction(load, architectureOffset),
    encodeInstruction(jumpIfEqual, audit, 1, 0),
    encodeInstruction(answer, killProcess),
    encodeInstruction(load, numberOffset),
    encodeInstruction(jumpIfAtLeast, x32Bit, 2, 0),
    encodeInstruction(jumpIfEqual, socket, 1, 0),
    encodeInstruction(jumpIfEqual, ioUringSetup, 0, 1),
    encodeInstruction(answer, failWith(EACCES)),
    encodeInstruction(answer, allow),
  ]);
}
