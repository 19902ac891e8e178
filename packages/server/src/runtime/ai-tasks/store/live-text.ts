/**
 * The text of turns that are under way on this server, for those who follow the task here. Followers on other
 * servers read it from the row of the turn, which is written now and then.
 */
export interface LiveText {
  groupId: string;
  text: string;
}

export interface LiveTexts {
  begin(taskId: string, groupId: string): void;
  /** `undefined`: the text begins again. */
  add(taskId: string, piece: string | undefined): void;
  end(taskId: string): void;
  read(taskId: string): LiveText | undefined;
  /** Calls `onText` after each change. Returns a function that ends it. */
  follow(taskId: string, onText: () => void): () => void;
}

export function createLiveTexts(): LiveTexts {
  const texts = new Map<string, LiveText>();
  const followers = new Map<string, Set<() => void>>();
  const announce = (taskId: string) => {
    for (const onText of followers.get(taskId) ?? []) onText();
  };
  return {
    begin(taskId, groupId) {
      texts.set(taskId, { groupId, text: '' });
    },
    add(taskId, piece) {
      const live = texts.get(taskId);
      if (live === undefined) return;
      live.text = piece === undefined ? '' : live.text + piece;
      announce(taskId);
    },
    end(taskId) {
      texts.delete(taskId);
    },
    read: (taskId) => texts.get(taskId),
    follow(taskId, onText) {
      const here = followers.get(taskId) ?? new Set();
      followers.set(taskId, here.add(onText));
      return () => {
        here.delete(onText);
        if (here.size === 0) followers.delete(taskId);
      };
    },
  };
}
