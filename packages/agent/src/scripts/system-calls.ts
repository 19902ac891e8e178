/** Numbers of system calls of Linux: arch/x86/entry/syscalls/syscall_64.tbl and asm-generic/unistd.h. */

/** What `sandbox.pl` calls. */
const sandboxCalls = {
  x64: {
    clone: 56,
    mount: 165,
    umount2: 166,
    pivot_root: 155,
    prctl: 157,
    capset: 126,
    prlimit64: 302,
    sethostname: 170,
    mount_setattr: 442,
    sched_setscheduler: 144,
  },
  arm64: {
    clone: 220,
    mount: 40,
    umount2: 39,
    pivot_root: 41,
    prctl: 167,
    capset: 91,
    prlimit64: 261,
    sethostname: 161,
    mount_setattr: 442,
    sched_setscheduler: 119,
  },
} as const;

/** What the filter looks at more closely. */
const filteredCalls = {
  x64: { clone: 56, fcntl: 72, mmap: 9, setsockopt: 54, socket: 41 },
  arm64: { clone: 220, fcntl: 25, mmap: 222, setsockopt: 208, socket: 198 },
} as const;

/**
 * What the filter answers as if the kernel did not have it, so that programs take another way. The flags of `clone3`
 * are in memory, which a filter cannot read; the C library then uses `clone`. What the others make counts for the
 * agent's user or for the whole machine. ADR 0082.
 */
const absentCalls = {
  x64: {
    clone3: 435,
    epoll_create: 213,
    epoll_create1: 291,
    inotify_init: 253,
    inotify_init1: 294,
    fanotify_init: 300,
    io_setup: 206,
  },
  arm64: { clone3: 435, epoll_create1: 20, inotify_init1: 26, fanotify_init: 262, io_setup: 0 },
} as const;

/** Newer calls have the same number on all architectures. */
const refusedEverywhere = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_getfd: 438,
  mount_setattr: 442,
  memfd_secret: 447,
} as const;

/** Namespaces and mounts, memory that no limit counts, sessions, keys, tracing, and the kernel itself. */
const refusedCalls = {
  x64: {
    unshare: 272,
    setns: 308,
    mount: 165,
    umount2: 166,
    pivot_root: 155,
    chroot: 161,
    open_by_handle_at: 304,
    memfd_create: 319,
    shmget: 29,
    msgget: 68,
    semget: 64,
    mq_open: 240,
    vmsplice: 278,
    setsid: 112,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    ptrace: 101,
    process_vm_readv: 310,
    process_vm_writev: 311,
    kcmp: 312,
    userfaultfd: 323,
    bpf: 321,
    perf_event_open: 298,
    kexec_load: 246,
    init_module: 175,
    finit_module: 313,
    delete_module: 176,
    ...refusedEverywhere,
  },
  arm64: {
    unshare: 97,
    setns: 268,
    mount: 40,
    umount2: 39,
    pivot_root: 41,
    chroot: 51,
    open_by_handle_at: 265,
    memfd_create: 279,
    shmget: 194,
    msgget: 186,
    semget: 190,
    mq_open: 180,
    vmsplice: 75,
    setsid: 157,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    ptrace: 117,
    process_vm_readv: 270,
    process_vm_writev: 271,
    kcmp: 272,
    userfaultfd: 282,
    bpf: 280,
    perf_event_open: 241,
    kexec_load: 104,
    init_module: 105,
    finit_module: 273,
    delete_module: 106,
    ...refusedEverywhere,
  },
} as const;

export interface SystemCalls {
  sandbox: Readonly<Record<keyof (typeof sandboxCalls)['x64'], number>>;
  filtered: Readonly<Record<keyof (typeof filteredCalls)['x64'], number>>;
  /** Older calls are missing on arm64. */
  absent: Readonly<Record<keyof (typeof absentCalls)['arm64'], number>>;
  refused: Readonly<Record<keyof (typeof refusedCalls)['x64'], number>>;
}

/** Undefined on an unknown architecture. */
export function findSystemCalls(architecture: NodeJS.Architecture): SystemCalls | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined;
  return {
    sandbox: sandboxCalls[architecture],
    filtered: filteredCalls[architecture],
    absent: absentCalls[architecture],
    refused: refusedCalls[architecture],
  };
}
