/**
 * Protects the agent from the channel of a child process that does what it wants. Node.js trusts its children:
 * bytes that are no message, and some messages that it keeps to itself, throw an error that nothing catches,
 * which would end the agent.
 */
import type { ChildProcess } from 'node:child_process';

/** The reading end of a channel. Node's types do not declare it. */
interface Channel {
  onread(...given: unknown[]): unknown;
}

/** @param onFault called if the child sends what is no message */
export function guardChannel(child: ChildProcess, onFault: () => void): void {
  // They are for handles, and none is ever sent or taken.
  child.removeAllListeners('internalMessage');
  const channel = findChannel(child);
  if (channel === undefined) return;
  const { onread } = channel;
  channel.onread = (...given) => {
    try {
      return Reflect.apply(onread, channel, given);
    } catch {
      onFault();
      return undefined;
    }
  };
}

function findChannel(child: ChildProcess): Channel | undefined {
  const key = Object.getOwnPropertySymbols(child).find((each) => each.description === 'kChannelHandle');
  const channel = key === undefined ? undefined : (Reflect.get(child, key) as Partial<Channel> | null);
  return typeof channel?.onread === 'function' ? (channel as Channel) : undefined;
}
