# Starts one script in namespaces of its own. ADR 0044. sandbox.ts documents the arguments and the frames.
#
#   agent - outer - init - script
#
# outer  writes the user mapping and waits. It dies with the agent.
# init   is process 1 of the script's process namespace: it builds the file system, gives up all
#        privileges, and waits for the script. It dies with outer, and with it everything in the namespace.
use strict;
use warnings;
use Errno ();
use POSIX ();

my %option = (bind => []);
my %call;
for (@ARGV) {
    my ($name, $value) = /^([\w.]+)=(.*)$/s or die "sandbox: bad argument $_\n";
    if ($name =~ /^call\.(\w+)$/) { $call{$1} = $value + 0 }
    elsif ($name eq 'bind') { push @{ $option{bind} }, $value }
    else { $option{$name} = $value }
}

# linux/sched.h, linux/mount.h, linux/prctl.h, linux/landlock.h
my %clone = (fs => 0x00020000, cgroup => 0x02000000, uts => 0x04000000, ipc => 0x08000000,
    user => 0x10000000, pid => 0x20000000, net => 0x40000000);
my ($read_only, $no_suid, $no_dev, $no_exec) = (1, 2, 4, 8);
my ($bind, $recursive, $private) = (4096, 16384, 1 << 18);
my ($set_pdeathsig, $set_dumpable, $set_no_new_privs, $set_seccomp) = (1, 4, 38, 22);
my $sigkill = 9;
my $sched_idle = 5;
# A tenth of what a busy session gets. Less would let scripts starve beside long queries.
my $share_nice = 10;
my ($landlock_create_ruleset, $landlock_add_rule, $landlock_restrict_self) = (444, 445, 446);
my ($write_to_file, $link_or_rename) = (1 << 1, 1 << 13);
my $user = 1000;

sub ask {
    my ($name, @arguments) = @_;
    my $result = syscall($call{$name}, @arguments);
    return $result;
}

sub must {
    my ($what, $result) = @_;
    die "sandbox: $what: $!\n" if !defined $result || $result < 0;
    return $result;
}

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "sandbox: $path: $!\n";
    print {$file} $text;
    close $file or die "sandbox: $path: $!\n";
}

sub die_with_parent {
    my ($gone) = @_;
    must('pdeathsig', ask('prctl', $set_pdeathsig, $sigkill, 0, 0, 0));
    # The parent may have ended before.
    POSIX::_exit(1) if $gone->();
}

# All processes of a script share the processor as one. Its sessions would each get a share, so it can make none.
# Where the kernel has no such shares, the file is missing. True if there is nothing left to do.
sub lower_share {
    return 1 unless open my $share, '>', '/proc/self/autogroup';
    return 1 if defined syswrite $share, $share_nice;
    # Only root may do this more than ten times a second, counted over the machine.
    return !$!{EAGAIN};
}

# ---- outer ----

die_with_parent(sub { getppid() != $option{parent} });
if (open my $score, '>', '/proc/self/oom_score_adj') { print {$score} 1000; close $score }

pipe(my $go_read, my $go_write) or die "sandbox: pipe: $!\n";
my $namespaces = $clone{user} | $clone{pid} | $clone{ipc} | $clone{uts} | $clone{cgroup} | $clone{fs};
$namespaces |= $clone{net} unless $option{network};
# As fork, because no stack is given. 17 is SIGCHLD.
my $init = must('the kernel refuses user namespaces', ask('clone', $namespaces | 17, 0, 0, 0, 0));
if ($init > 0) {
    close $go_read;
    my ($owner, $group) = ($>, (split ' ', $))[0]);
    ($owner, $group) = ($option{user}, $option{user}) if $owner == 0;
    write_file("/proc/$init/setgroups", 'deny') if $> != 0;
    write_file("/proc/$init/uid_map", "$user $owner 1");
    write_file("/proc/$init/gid_map", "$user $group 1");
    syswrite $go_write, 'g';
    # This end stays open, so that init can see whether this process still exists.
    POSIX::close(3);
    my $has_ended = 0;
    until ($has_ended || lower_share()) {
        select undef, undef, undef, 0.02;
        # A second call would lose the status.
        $has_ended = waitpid($init, POSIX::WNOHANG()) == $init;
    }
    waitpid $init, 0 unless $has_ended;
    POSIX::_exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
}

# ---- init ----

close $go_write;
sysread($go_read, my $go, 1) == 1 or POSIX::_exit(1);
# The arguments name folders of the agent, and the script may read those of process 1.
$0 = 'script';
if ($option{root}) {
    POSIX::setgid($user);
    $) = "$user $user";
    POSIX::setuid($user);
}
must('credentials', $> == $user ? 0 : -1);
my $host = 'script';
ask('sethostname', $host, length $host);

sub mount_on {
    my ($source, $target, $type, $flags, $data) = @_;
    return ask('mount', $source, $target, $type, $flags, $data);
}

# struct mount_attr; recursive, so that mounts below are read-only too.
sub seal {
    my ($path, $flags, $below) = @_;
    my $attributes = pack 'Q4', $flags, 0, 0, 0;
    must("seal $path", ask('mount_setattr', -100, $path, $below ? 0x8000 : 0, $attributes, 32));
}

my $root = '/tmp';
must('mounts', mount_on('none', '/', 0, $recursive | $private, 0));
must('tmpfs', mount_on('tmpfs', $root, 'tmpfs', $no_suid, 'size=128m,nr_inodes=4096,mode=0755'));

sub make_folder {
    my ($path) = @_;
    my $made = '';
    for (grep { $_ ne '' } split '/', $path) {
        $made .= "/$_";
        mkdir "$root$made" unless -d "$root$made";
    }
}

sub show {
    my ($path, $writable) = @_;
    if (-l $path) {
        (my $folder = $path) =~ s{/[^/]*$}{};
        make_folder($folder);
        symlink readlink($path), "$root$path";
        return;
    }
    return unless -e $path;
    if (-d $path) { make_folder($path) }
    else {
        (my $folder = $path) =~ s{/[^/]*$}{};
        make_folder($folder);
        write_file("$root$path", '');
    }
    must("bind $path", mount_on($path, "$root$path", 0, $bind | $recursive, 0));
    seal("$root$path", $read_only | $no_suid | $no_dev, 1) unless $writable;
}

show($_) for @{ $option{bind} };
my ($no_rules, $ask_version) = (0, 1);
my $landlock = syscall($landlock_create_ruleset, $no_rules, 0, $ask_version);
# A process that may write to /dev/zero can map memory that no limit counts. Landlock prevents it since version 2.
show("/dev/$_", 1) for qw(null full random urandom), $landlock >= 2 ? 'zero' : ();
symlink '/proc/self/fd', "$root/dev/fd";
symlink "/proc/self/fd/$_->[1]", "$root/dev/$_->[0]" for ['stdin', 0], ['stdout', 1], ['stderr', 2];
make_folder($_) for qw(/proc /tmp /headgate /dev/shm /etc);
# Containers with a masked /proc refuse this. Scripts then have none.
mount_on('proc', "$root/proc", 'proc', $no_suid | $no_dev | $no_exec, 0);
must('disk', mount_on('tmpfs', "$root/tmp", 'tmpfs', $no_suid | $no_dev,
    "size=$option{disk},nr_inodes=65536,mode=0700"));
mkdir "$root/tmp/.shm";
must('shm', mount_on("$root/tmp/.shm", "$root/dev/shm", 0, $bind, 0));
# The agent's data, if a shown folder contains it.
my $hide = $option{hide};
if (-d "$root$hide") { must('hide', mount_on('tmpfs', "$root$hide", 'tmpfs', $read_only, 'size=4k')) }
write_file("$root/etc/passwd", "root:x:0:0:root:/tmp:/bin/sh\nscript:x:$user:$user:script:/tmp:/bin/bash\n");
write_file("$root/etc/group", "root:x:0:\nscript:x:$user:\n");
# Nested user namespaces would allow mounts without a limit. The call filter refuses them too.
if (open my $limit, '>', '/proc/sys/user/max_user_namespaces') { print {$limit} 0; close $limit }

# ---- frames: kind, name and length in a line, then the bytes ----

sub read_exactly {
    my ($length) = @_;
    my $text = '';
    while (length $text < $length) {
        my $read = POSIX::read(3, my $part, $length - length $text > 65536 ? 65536 : $length - length $text);
        die "sandbox: the agent sent too little\n" unless $read && $read > 0;
        $text .= substr $part, 0, $read;
    }
    return $text;
}

my (%environment, @command);
for (;;) {
    my ($header, $character) = ('', '');
    $header .= $character while ($character = read_exactly(1)) ne "\n";
    last if $header eq 'end';
    my ($kind, $length, $name) = $header =~ /^(\w+) (\d+) (.*)$/s or die "sandbox: bad frame\n";
    my $text = read_exactly($length);
    if ($kind eq 'file') { write_file("$root/headgate/$name", $text) }
    elsif ($kind eq 'set') { $environment{$name} = $text }
    elsif ($kind eq 'argument') { push @command, $text }
}

chdir $root or die "sandbox: $root: $!\n";
my $here = '.';
must('pivot_root', ask('pivot_root', $here, $here));
must('umount', ask('umount2', $here, 2));
chdir '/tmp' or die "sandbox: /tmp: $!\n";
my $slash = '/';
seal($slash, $read_only, 0);

# ---- bounds and privileges ----

sub limit {
    my ($resource, $value) = @_;
    my $pair = pack 'Q2', $value, $value;
    must("limit $resource", ask('prlimit64', 0, $resource, $pair, 0));
}

limit(4, 0);                      # core
limit(7, 512);                    # open files
limit(8, 0);                      # locked memory, also by sockets
limit(11, $option{signals});      # pending signals and timers
limit(12, 0);                     # message queues
limit(2, $option{memory});        # private memory of one process
limit(6, $option{processes} + 1); # processes of this user namespace, with init

# Server, runs, warehouses and heartbeats come first. Without the right to a better priority it cannot be left.
limit(13, 0);                     # nice
limit(14, 0);                     # real-time priority
my $priority = pack 'l', 0;
must('idle priority', ask('sched_setscheduler', 0, $sched_idle, $priority));
my $header = pack 'L2', 0x20080522, 0;
my $none = pack 'L6', (0) x 6;
must('capabilities', ask('capset', $header, $none));
# Otherwise the script could take init over and keep it alive after outer.
must('dumpable', ask('prctl', $set_dumpable, 0, 0, 0, 0));
die_with_parent(sub {
    my $ready = '';
    vec($ready, fileno($go_read), 1) = 1;
    return select($ready, undef, undef, 0) > 0;
});
must('no_new_privs', ask('prctl', $set_no_new_privs, 1, 0, 0, 0));
if ($landlock >= 2) {
    my $handled = pack 'Q', $write_to_file | $link_or_rename;
    my $rules = must('landlock', syscall($landlock_create_ruleset, $handled, length $handled, 0));
    for (['/', $link_or_rename], map { [$_, $write_to_file] } qw(/tmp /dev/shm /dev/null /dev/full /proc)) {
        my ($path, $right) = @{$_};
        # O_PATH and O_CLOEXEC.
        sysopen(my $place, $path, 0x200000 | 0x80000) or next;
        my $rule = pack 'Q l', $right, fileno $place;
        must("landlock $path", syscall($landlock_add_rule, $rules, 1, $rule, 0));
    }
    must('landlock', syscall($landlock_restrict_self, $rules, 0));
    POSIX::close($rules);
}
my $filter = pack 'H*', $option{filter};
my $program = pack 'S x![P] P', length($filter) / 8, $filter;
must('seccomp', ask('prctl', $set_seccomp, 2, $program, 0, 0));

my $started = "{\"type\":\"started\"}\n";
POSIX::write(3, $started, length $started);
my $script = fork;
die "sandbox: fork: $!\n" unless defined $script;
if ($script == 0) {
    POSIX::setpgid(0, 0);
    POSIX::close(3) unless $option{channel};
    POSIX::close(fileno $go_read);
    %ENV = %environment;
    exec { $command[0] } @command or do { print STDERR "$command[0]: $!\n"; POSIX::_exit(127) };
}
POSIX::close(3);
for (;;) {
    my $ended = waitpid -1, 0;
    next if $ended != $script;
    # Everything that is left in the namespace dies with this process.
    POSIX::_exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
}
