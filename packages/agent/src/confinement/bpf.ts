/** Instructions of seccomp filters: linux/bpf_common.h, linux/filter.h and linux/seccomp.h. */

export const load = 0x20;
export const jumpIfEqual = 0x15;
export const jumpIfAtLeast = 0x35;
export const jumpIfAnyBit = 0x45;
export const answer = 0x06;

export const allow = 0x7fff0000;
export const killProcess = 0x80000000;
/** The system call fails with this error number. */
export const failWith = (errorNumber: number) => 0x00050000 + errorNumber;

export const EPERM = 1;
export const EACCES = 13;
export const EINVAL = 22;
export const ENOSYS = 38;

/** Offsets in `struct seccomp_data`. Of arguments the lower half, on little-endian machines. */
export const numberOffset = 0;
export const architectureOffset = 4;
export const firstArgumentOffset = 16;
export const secondArgumentOffset = 24;
export const thirdArgumentOffset = 32;
export const fourthArgumentOffset = 40;

/** Higher numbers belong to the x32 ABI of x64, which has its own system calls. */
export const x32Bit = 0x40000000;

/** AUDIT_ARCH of linux/audit.h. */
export const auditArchitectures: Readonly<Partial<Record<NodeJS.Architecture, number>>> = {
  x64: 0xc000003e,
  arm64: 0xc00000b7,
};

/** A `struct sock_filter`. Jumps are relative to the next instruction. */
export function encodeInstruction(code: number, operand: number, jumpTrue = 0, jumpFalse = 0): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(jumpTrue, 2);
  bytes.writeUInt8(jumpFalse, 3);
  bytes.writeUInt32LE(operand, 4);
  return bytes;
}
