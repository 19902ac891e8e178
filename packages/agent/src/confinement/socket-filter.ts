/**
 * A seccomp filter that prevents a process from opening sockets: `socket` and `io_uring_setup` fail with
 * EACCES, and a system call of another architecture kills the process. Open sockets, such as the IPC channel,
 * keep working. The filter needs no privilege and no namespace, so it works in containers. Perl installs it
 * and then executes the program: Perl is part of Debian and Ubuntu and can make any system call, while Node
 * cannot. ADR 0029.
 */

/** Numbers of system calls, and AUDIT_ARCH of linux/audit.h. */
const architectures: Readonly<
  Partial<Record<NodeJS.Architecture, { audit: number; prctl: number; socket: number }>>
> = {
  x64: { audit: 0xc000003e, prctl: 157, socket: 41 },
  arm64: { audit: 0xc00000b7, prctl: 167, socket: 198 },
};
/** The same on all architectures. */
const ioUringSetup = 425;
/** Higher numbers belong to the x32 ABI of x64, which has its own `socket`. */
const x32Bit = 0x40000000;

/** linux/bpf_common.h and linux/seccomp.h. */
const load = 0x20;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const answer = 0x06;
const allow = 0x7fff0000;
const failWithEacces = 0x0005000d;
const killProcess = 0x80000000;
/** Offsets in `struct seccomp_data`. */
const numberOffset = 0;
const architectureOffset = 4;

/** prctl(PR_SET_NO_NEW_PRIVS, 1), prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter), exec. */
const perlProgram = `
my ($prctl, $filter, @command) = @ARGV;
my $program = pack 'H*', $filter;
my $pointer = pack 'S x![P] P', length($program) / 8, $program;
syscall($prctl + 0, 38, 1, 0, 0, 0) == 0 or die "no_new_privs: $!\\n";
syscall($prctl + 0, 22, 2, $pointer, 0, 0) == 0 or die "seccomp: $!\\n";
exec { $command[0] } @command or die "exec: $!\\n";
`;

/** The command prefix that starts a program without sockets; undefined on an unknown architecture. */
export function createSocketFilterLauncher(
  architecture: NodeJS.Architecture = process.arch,
): readonly string[] | undefined {
  const known = architectures[architecture];
  if (known === undefined) return undefined;
  const filter = encodeFilter(known.audit, known.socket).toString('hex');
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
    encodeInstruction(answer, failWithEacces),
    encodeInstruction(answer, allow),
  ]);
}

/** A `struct sock_filter`. Jumps are relative to the next instruction. */
function encodeInstruction(code: number, operand: number, jumpTrue = 0, jumpFalse = 0): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(jumpTrue, 2);
  bytes.writeUInt8(jumpFalse, 3);
  bytes.writeUInt32LE(operand, 4);
  return bytes;
}
