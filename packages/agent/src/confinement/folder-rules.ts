/**
 * Keeps a process to its folders by Landlock: it reads programs, code and what it is given, and writes what
 * it is given. Needs Linux 5.13, but no rights and no namespace. Perl installs the rules and then executes the
 * program, as in `socket-filter.ts`. ADR 0050.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prctlNumber } from './socket-filter.ts';

/** Folders that exist. */
export interface FolderRules {
  readable: readonly string[];
  /** Also readable. */
  writable: readonly string[];
}

const programs = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
/** What Node.js, the C library and DuckDB read. No secret is among them. */
const settings = [
  '/etc/ld.so.cache',
  '/etc/localtime',
  '/etc/ssl/openssl.cnf',
  '/etc/pki/tls/openssl.cnf',
  '/etc/timezone',
  '/dev/random',
  '/dev/urandom',
  '/dev/zero',
  // Not all of /proc: root reads the environment of the agent's process there despite Landlock.
  '/proc/self',
  '/proc/cpuinfo',
  '/proc/loadavg',
  '/proc/meminfo',
  '/proc/stat',
  '/proc/sys/vm',
  '/proc/uptime',
  '/proc/version',
  '/sys/devices/system',
  '/sys/fs/cgroup',
];

/** landlock_create_ruleset, landlock_add_rule, prctl(PR_SET_NO_NEW_PRIVS, 1), landlock_restrict_self, exec. */
const perlProgram = `
my $prctl = shift;
my %paths;
while ((my $word = shift) ne '--') { my ($kind, $path) = split /=/, $word, 2; push @{ $paths{$kind} }, $path }
my ($execute, $write, $read, $list) = (1, 2, 4, 8);
my ($none, $ask_version) = (0, 1);
my $version = syscall(444, $none, 0, $ask_version);
die "landlock: $!\\n" if $version < 1;
my $truncate = $version >= 3 ? 1 << 14 : 0;
my $all = (1 << 13) - 1 | ($version >= 2 ? 1 << 13 : 0) | $truncate;
my $handled = pack 'Q', $all;
my $rules = syscall(444, $handled, 8, 0);
die "landlock: $!\\n" if $rules < 0;
sub permit {
  my ($rights, $path) = @_;
  # O_PATH and O_CLOEXEC.
  sysopen(my $file, $path, 0x200000 | 0x80000) or return;
  $rights &= $execute | $write | $read | $truncate unless -d $path;
  my $rule = pack 'Q l', $rights, fileno $file;
  syscall(445, $rules, 1, $rule, 0) == 0 or die "landlock: $path: $!\\n";
}
permit($execute | $read | $list, $_) for @{ $paths{program} };
permit($read | $list, $_) for @{ $paths{read} };
permit($all & ~$execute, $_) for @{ $paths{write} };
syscall($prctl + 0, 38, 1, 0, 0, 0) == 0 or die "no_new_privs: $!\\n";
syscall(446, $rules, 0) == 0 or die "landlock: $!\\n";
exec { $ARGV[0] } @ARGV or die "exec: $!\\n";
`;

/** The command prefix; undefined on an unknown architecture. */
export function createFolderLauncher({ readable, writable }: FolderRules): readonly string[] | undefined {
  const prctl = prctlNumber(process.arch);
  if (prctl === undefined) return undefined;
  return [
    '/usr/bin/perl',
    '-e',
    perlProgram,
    '--',
    String(prctl),
    ...[...programs, dirname(realpathSync(process.execPath))].map((path) => `program=${path}`),
    ...[...settings, ...findCodeFolders(), ...readable].map((path) => `read=${path}`),
    ...['/dev/null', ...writable].map((path) => `write=${path}`),
    '--',
  ];
}

/** Where the modules of the agent's processes are. */
let codeFolders: readonly string[] | undefined;

/** This package, its imports, and every `node_modules` on the way up. */
function findCodeFolders(): readonly string[] {
  if (codeFolders) return codeFolders;
  const own = dirname(dirname(dirname(realpathSync(fileURLToPath(import.meta.url)))));
  const found = new Set([own]);
  for (const name of ['@headgate/contract', '@headgate/pipelines']) {
    found.add(dirname(dirname(realpathSync(fileURLToPath(import.meta.resolve(name))))));
  }
  for (let folder = own; folder !== dirname(folder); folder = dirname(folder)) {
    const modules = join(folder, 'node_modules');
    if (existsSync(modules)) found.add(modules);
  }
  codeFolders = [...found];
  return codeFolders;
}
