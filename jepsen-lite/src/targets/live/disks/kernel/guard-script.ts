/**
 * A program in Perl, which every Debian has, for the ioctls that Node lacks: freeze, thaw and shut down the file system that its argument
 * names. It takes commands as lines and answers each with one. When its input ends, however its parent ended, it thaws and ends too.
 */

import { UNSYNCED } from '../canaries.ts';

/** What survives a shutdown: EXT4_GOING_FLAGS_LOGFLUSH and EXT4_GOING_FLAGS_NOLOGFLUSH of the kernel. */
export const SHUTDOWN_FLAGS = { journal: 1, nothing: 2 } as const;

/**
 * - `freeze`, `thaw`
 * - `shutdown FLAGS DIRECTORY`: with a directory, changes there first what will be lost. Answers `refused` when the kernel refuses a
 *   write from then on, as it must, and `accepted` otherwise.
 */
export const GUARD_SCRIPT = String.raw`
use strict; use warnings;
$| = 1;
$SIG{$_} = 'IGNORE' for qw(INT TERM HUP PIPE);
my ($FIFREEZE, $FITHAW, $SHUTDOWN) = (0xC0045877, 0xC0045878, 0x8004587D);
my ($mount) = @ARGV;
my $frozen;
sub control {
  my ($file, $request, $argument) = @_;
  defined(ioctl($file, $request, $argument)) or die "$!\n";
}
sub freeze {
  return if $frozen;
  open(my $root, '<', $mount) or die "$!\n";
  control($root, $FIFREEZE, pack('i', 0));
  $frozen = $root;
}
sub thaw {
  return unless $frozen;
  my $root = $frozen;
  undef $frozen;
  control($root, $FITHAW, pack('i', 0));
}
sub unsynced {
  my ($directory) = @_;
  # Appended: a file that is cut and written anew is written out when it is closed.
  open(my $file, '>>', "$directory/log") or die "$!\n";
  print $file "${UNSYNCED}";
  close($file) or die "$!\n";
  rename("$directory/old-name", "$directory/new-name") or die "$!\n";
}
sub shut_down {
  my ($flags, $directory) = @_;
  open(my $root, '<', $mount) or die "$!\n";
  if (defined $directory) {
    # Nobody else could: a write here would wait for itself.
    thaw();
    unsynced($directory);
  }
  control($root, $SHUTDOWN, pack('L', $flags));
  thaw();
  return open(my $late, '>', "$mount/late") ? 'accepted' : 'refused';
}
while (my $line = <STDIN>) {
  chomp $line;
  my ($command, @rest) = split / /, $line, 3;
  my $answer = eval {
    if ($command eq 'freeze') { freeze(); 'done' }
    elsif ($command eq 'thaw') { thaw(); 'done' }
    elsif ($command eq 'shutdown') { shut_down(@rest) }
    else { die "no such command\n" }
  };
  print defined $answer ? "$answer\n" : "error $@";
}
eval { thaw() };
`;
