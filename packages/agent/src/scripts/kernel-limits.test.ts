/** What the kernel could give scripts beyond the bounds of the sandbox. Each is followed by a script that works. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { attempt, call, createScriptsFixture, requireWorking } from './script-fixture.ts';

const fixture = createScriptsFixture();
after(() => fixture.close());

describe('a script', () => {
  it('cannot make namespaces, mounts, or memory that no limit counts', async () => {
    const { stdout } = await fixture.run(
      `${attempt}
import ctypes, os
${call}attempt("unshare", lambda: call("unshare", 0x10000000))
attempt("setns", lambda: call("setns", 0, 0))
attempt("mount", lambda: call("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, None))
attempt("memfd", lambda: os.memfd_create("x"))
attempt("shm", lambda: call("shmget", 0, 1 << 20, 0o1600))
attempt("ptrace", lambda: call("ptrace", 16, 1, None, None))
attempt("keyctl", lambda: call("syscall", 250, 0, -3, 1))
attempt("chroot", lambda: os.chroot("/tmp"))
attempt("init's memory", lambda: open("/proc/1/mem", "r+b"))
attempt("namespaces of a thread", lambda: call("syscall", 56, 0x10000000 | 17, 0, 0, 0, 0))
`,
      { language: 'python' },
    );
    assert.deepEqual(
      stdout.split('\n').filter((line) => !line.endsWith('refused: PermissionError')),
      [],
    );
    await requireWorking(fixture);
  });

  it('cannot use memory that no limit counts', async () => {
    const fails = async (text: string) => {
      const { message, stdout } = await fixture.run(text, { language: 'python' });
      assert.match(message ?? '', /more than 200 MB of memory and was killed/, stdout);
    };
    const { stdout } = await fixture.run(
      `${attempt}
import mmap, os, multiprocessing
from multiprocessing import shared_memory
attempt("anonymous", lambda: mmap.mmap(-1, 4096))
attempt("huge pages", lambda: mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000))
attempt("zero", lambda: mmap.mmap(os.open("/dev/zero", os.O_RDWR), 4096))
attempt("private zero", lambda: len(mmap.mmap(os.open("/dev/zero", os.O_RDONLY), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)))
attempt("private", lambda: len(mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)))
attempt("value", lambda: multiprocessing.Value("i", 4).value)
attempt("named", lambda: shared_memory.SharedMemory(create=True, size=4096).size)
attempt("pool", lambda: multiprocessing.Pool(2).map(abs, [-1, -2]))
os.makedirs("a"); os.makedirs("b"); open("a/x", "w").close()
attempt("move", lambda: os.rename("a/x", "b/x"))
`,
      { language: 'python' },
    );
    assert.deepEqual(stdout.split('\n'), [
      'anonymous refused: PermissionError',
      'huge pages refused: PermissionError',
      'zero refused: PermissionError',
      'private zero -> 4096',
      'private -> 4096',
      'value -> 4',
      'named -> 4096',
      'pool -> [1, 2]',
      'move -> None',
    ]);
    // Reading the page of zeros takes no resident memory, but a page of the tables for every 2 MiB.
    await fails(`
import mmap, time
part = 1 << 38
for _ in range(8):
    area = mmap.mmap(-1, part, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
    for at in range(0, part, 2 << 20):
        area[at]
time.sleep(600)
`);
    await fails(`
import os, socket, time
for _ in range(4):
    if os.fork() == 0:
        break
kept = []
for _ in range(240):
    pair = socket.socketpair()
    pair[0].setblocking(False)
    pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    try:
        while True: pair[0].send(b"x" * 60000)
    except BlockingIOError:
        kept.append(pair)
time.sleep(600)
`);
    await requireWorking(fixture);
  });

  it('cannot use the memory of locks of files', async () => {
    const text = `${attempt}
import fcntl, os, struct
def lock(file, start):
    fcntl.fcntl(file, LOCK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, start, 1, 0))
file = os.open("x", os.O_RDWR | os.O_CREAT)
LOCK = 37
attempt("of an open file", lambda: lock(file, 0))
LOCK = fcntl.F_SETLK
attempt("of a process", lambda: lock(file, 0))
`;
    const { stdout } = await fixture.run(text, { language: 'python' });
    assert.deepEqual(stdout.split('\n'), ['of an open file refused: OSError', 'of a process -> None']);
    const many = `for start in range(30000, 0, -1): lock(file, 2 * start)\nimport time; time.sleep(600)`;
    const { message } = await fixture.run(text + many, { language: 'python' });
    assert.match(message ?? '', /more than 200 MB of memory and was killed/);
    await requireWorking(fixture);
  });

  it('takes nothing that counts for the user of the agent', async () => {
    const { stdout, stderr } = await fixture.run(
      `${attempt}
import asyncio, ctypes, platform, select, selectors, subprocess
${call}attempt("epoll", lambda: select.epoll())
attempt("inotify", lambda: call("inotify_init1", 0))
attempt("fanotify", lambda: call("fanotify_init", 0x200, 0))
attempt("asynchronous input", lambda: call("syscall", {"x86_64": 206, "aarch64": 0}[platform.machine()], 1, ctypes.byref(ctypes.c_ulong())))
def timers():
    for count in range(100000):
        if libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p())) < 0:
            return count <= 256
attempt("timers", timers)
attempt("selector", lambda: selectors.DefaultSelector().__class__.__name__)
attempt("loop", lambda: asyncio.run(asyncio.sleep(0, "ran")))
async def shell():
    made = await asyncio.create_subprocess_exec("echo", "ran", stdout=subprocess.PIPE)
    return (await made.communicate())[0]
attempt("program", lambda: asyncio.run(shell()))
`,
      { language: 'python' },
    );
    assert.deepEqual(
      stdout.split('\n'),
      [
        'epoll refused: OSError',
        'inotify refused: OSError',
        'fanotify refused: OSError',
        'asynchronous input refused: OSError',
        'timers -> True',
        'selector -> PollSelector',
        'loop -> ran',
        "program -> b'ran\\n'",
      ],
      stderr,
    );
    await requireWorking(fixture);
  });

  it('has the lowest priority, together with all of its processes', async () => {
    const { stdout } = await fixture.run(
      `${attempt}
import os
attempt("policy", lambda: os.sched_getscheduler(0) == os.SCHED_IDLE)
for policy in (os.SCHED_OTHER, os.SCHED_BATCH, os.SCHED_RR):
    attempt("scheduler", lambda: os.sched_setscheduler(0, policy, os.sched_param(1 if policy == os.SCHED_RR else 0)))
attempt("nice", lambda: os.nice(-1))
if os.fork() == 0:
    attempt("session", os.setsid)
    os._exit(0)
os.wait()
if os.path.exists("/proc/self/autogroup"):
    for _ in range(600):
        text = open("/proc/self/autogroup").read()
        if text == "" or text.endswith(" nice 10\\n"): break
        import time; time.sleep(0.1)
    attempt("share", lambda: text == "" or text.endswith(" nice 10\\n"))
`,
      { language: 'python' },
    );
    assert.deepEqual(
      stdout.split('\n').filter((line) => line !== 'share -> True'),
      [
        'policy -> True',
        ...Array(3).fill('scheduler refused: PermissionError'),
        ...['nice refused: PermissionError', 'session refused: PermissionError'],
      ],
    );
  });
});
