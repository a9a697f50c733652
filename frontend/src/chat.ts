// What a person does in a conversation: open, send, edit, regenerate, continue, stop, switch version.
// Joins REST, the socket and the answers; the pure changes are in threads.ts, the pages only call this.
import type { Answer, Answers } from "./answers";
import * as api from "./api";
import type { Conversation, Message } from "./api";
import type { Conversations } from "./conversations";
import type { Drafts } from "./drafts";
import { problemOf, type Problem } from "./problem";
import { Store } from "./store";
import { afterEnd, afterTurn, joined, leafOf, LOADING, messageText, type Thread } from "./threads";
import type { Accepted, TurnFrame, TurnResult } from "./wire";

/** What is needed of the socket. */
export interface TurnLine {
  turn(frame: TurnFrame): Promise<TurnResult>;
  stop(generation: string): boolean;
}

export type SendState = { isBusy: boolean; problem: Problem | null };

const IDLE: SendState = { isBusy: false, problem: null };
const MOST_MESSAGES = 200;

export class Chat {
  private readonly threads = new Map<string, Store<Thread>>();
  private readonly sends = new Map<string, Store<SendState>>();

  constructor(
    private readonly line: TurnLine,
    private readonly answers: () => Answers,
    private readonly conversations: Conversations,
    private readonly drafts: Drafts,
    private readonly now: () => string = () => new Date().toISOString(),
  ) {}

  /** The thread of a conversation, loading it if it isn't there yet. */
  thread(pk: string): Store<Thread> {
    let store = this.threads.get(pk);
    if (store === undefined) {
      store = new Store(LOADING);
      this.threads.set(pk, store);
      void this.load(pk);
    }
    return store;
  }

  /** How sending stands in a conversation (`NEW` for one not begun yet). */
  sending(key: string): Store<SendState> {
    let store = this.sends.get(key);
    if (store === undefined) this.sends.set(key, (store = new Store(IDLE)));
    return store;
  }

  /** Loads a conversation and the newest page of its branch. */
  async load(pk: string): Promise<void> {
    const store = this.thread(pk);
    try {
      const [conversation, page] = await Promise.all([api.conversation(pk), api.branch(pk)]);
      store.update((thread) => ({ ...thread, conversation }));
      this.adopt(pk, page);
    } catch (error) {
      const status = problemOf(error).status === 404 ? "missing" : "failed";
      store.update((thread) => ({ ...thread, status }));
    }
  }

  /** Loads the page before the oldest message here. */
  async loadOlder(pk: string): Promise<void> {
    const store = this.thread(pk);
    const { older, isLoadingOlder, messages } = store.get();
    if (older === null || isLoadingOlder) return;
    store.update((thread) => ({ ...thread, isLoadingOlder: true }));
    try {
      const page = await api.olderMessages(older);
      const isSameBranch = store.get().messages[0]?.pk === messages[0]?.pk;
      if (isSameBranch) {
        store.update((thread) => ({
          ...thread,
          messages: [...page.results, ...thread.messages],
          older: page.next,
        }));
      }
    } catch (error) {
      problemOf(error); // the button stays, to be pressed again
    } finally {
      store.update((thread) => ({ ...thread, isLoadingOlder: false }));
    }
  }

  /** Sends the draft of a conversation; gives the conversation's pk, or null when it was refused. */
  async send(key: string, conversation: string | null, model: string | null): Promise<string | null> {
    const sending = this.sending(key);
    const text = this.drafts.of(key).get().text.trim();
    const thread = conversation === null ? null : this.thread(conversation).get();
    const isReady = thread === null || thread.status === "ready";
    if (text === "" || !isReady || sending.get().isBusy) return null;
    const parent = (thread && leafOf(thread)?.pk) ?? null;
    const client_id = this.drafts.clientId(key, parent, model);
    sending.set({ isBusy: true, problem: null });
    const frame: TurnFrame = { type: "send", client_id, conversation, parent, text, ...chosen(model) };
    const result = await this.line.turn(frame);
    if (result.ok) {
      this.drafts.clear(key);
      sending.set(IDLE);
      this.began(frame, result.accepted);
      return result.accepted.conversation;
    }
    if (result.problem.code !== "signed_out") this.drafts.refused(key); // else: perhaps it was accepted
    sending.set({ isBusy: false, problem: result.problem });
    return null;
  }

  /** A conversation was renamed here. */
  retitled(conversation: Conversation): void {
    this.threads.get(conversation.pk)?.update((thread) => ({ ...thread, conversation }));
  }

  /** The person has read why a send was refused. */
  dismiss(key: string): void {
    this.sending(key).update((state) => ({ ...state, problem: null }));
  }

  /** Another version of a user message, and an answer to it; false when it was refused. */
  edit(pk: string, message: string, text: string, model: string | null): Promise<boolean> {
    return this.act(pk, { type: "edit", message, client_id: crypto.randomUUID(), text, ...chosen(model) });
  }

  /** Another version of an answer. */
  regenerate(pk: string, message: string, model: string | null): Promise<boolean> {
    return this.act(pk, { type: "regenerate", message, client_id: crypto.randomUUID(), ...chosen(model) });
  }

  /** Goes on with a stopped answer from the text that stands. */
  resume(pk: string, message: string): Promise<boolean> {
    return this.act(pk, { type: "continue", message, client_id: crypto.randomUUID() });
  }

  /** Stops an answer, by REST where there is no socket; what was shown stays. */
  async stop(generation: string): Promise<void> {
    this.answers().stopping(generation);
    if (this.line.stop(generation)) return;
    await api.stop(generation).catch(problemOf); // else the next connection asks
  }

  /** Shows another version of a message, and the branch that goes on from it. */
  async choose(pk: string, sibling: string): Promise<void> {
    const store = this.thread(pk);
    store.update((thread) => ({ ...thread, busy: [...thread.busy, sibling] }));
    try {
      const conversation = await api.changeConversation(pk, { leaf: sibling });
      store.update((thread) => ({ ...thread, conversation }));
      this.adopt(pk, await api.branch(pk, { leaf: conversation.leaf ?? sibling }));
    } catch (error) {
      this.complain(pk, leafOf(store.get())?.pk ?? "", problemOf(error));
    } finally {
      store.update((thread) => ({ ...thread, busy: thread.busy.filter((one) => one !== sibling) }));
    }
  }

  /** Something changed elsewhere: takes the new state in, without leaving the branch shown here. */
  async changed(pk: string): Promise<void> {
    try {
      const conversation = await api.conversation(pk);
      this.conversations.put(conversation);
      const store = this.threads.get(pk);
      if (store === undefined || store.get().status !== "ready") return;
      store.update((thread) => ({ ...thread, conversation }));
      await this.refresh(pk, conversation.leaf);
    } catch (error) {
      if (problemOf(error).status !== 404) return;
      this.conversations.forget(pk);
      this.threads.get(pk)?.update((thread) => ({ ...thread, status: "missing" }));
    }
  }

  /** An answer has ended: writes its end into the branch, and fetches it where the text may differ. */
  ended(answer: Answer, needsFetch: boolean): void {
    const pk = this.conversationOf(answer.message);
    if (pk === null) return;
    this.thread(pk).update((thread) => ({
      ...thread,
      messages: afterEnd(thread.messages, answer, this.now()),
    }));
    if (needsFetch) void this.fetchMessage(pk, answer.message);
    void this.touch(pk);
  }

  /** Reading an answer is stuck: ends it if its row has ended. */
  async stuck(answer: Answer): Promise<void> {
    try {
      const message = await api.message(answer.message);
      const generation = message.generation;
      if (generation?.pk !== answer.generation || !api.isOver(generation.state)) return;
      const text = messageText(message);
      const { finish_reason, error_code, usage } = generation;
      const state = generation.state as "complete" | "stopped" | "failed" | "blocked";
      const done = { type: "done", state, length: text.length, finish_reason, error_code, usage } as const;
      this.answers().close(answer.generation, done, text);
    } catch (error) {
      problemOf(error); // it is asked again while it stays stuck
    }
  }

  /** After a time without connection: what isn't shown is read anew when it is opened again. */
  async reconnected(shown: string | null): Promise<void> {
    for (const pk of [...this.threads.keys()]) {
      if (pk !== shown && !this.sending(pk).get().isBusy) this.threads.delete(pk);
    }
    if (shown !== null) await this.changed(shown);
  }

  /** The conversation that shows a message, null if none does. */
  conversationOf(message: string): string | null {
    for (const [pk, store] of this.threads) {
      if (store.get().messages.some((one) => one.pk === message)) return pk;
    }
    return null;
  }

  private async act(pk: string, frame: Exclude<TurnFrame, { type: "send" }>): Promise<boolean> {
    const store = this.thread(pk);
    if (store.get().busy.includes(frame.message)) return false;
    const { [frame.message]: _, ...problems } = store.get().problems;
    store.update((thread) => ({ ...thread, problems, busy: [...thread.busy, frame.message] }));
    const result = await this.line.turn(frame);
    store.update((thread) => ({ ...thread, busy: thread.busy.filter((one) => one !== frame.message) }));
    if (result.ok) this.began(frame, result.accepted);
    else this.complain(pk, frame.message, result.problem);
    return result.ok;
  }

  private began(frame: TurnFrame, accepted: Accepted): void {
    const pk = accepted.conversation;
    if (!this.threads.has(pk)) this.threads.set(pk, new Store<Thread>({ ...LOADING, status: "ready" }));
    const store = this.thread(pk);
    const messages = afterTurn(store.get().messages, frame, accepted, this.now());
    if (messages === null || api.isOver(accepted.state)) void this.load(pk);
    else {
      store.update((thread) => ({ ...thread, messages }));
      this.answers().watch(accepted.generation, accepted.answer, true);
    }
    void this.touch(pk);
  }

  /** The newest state of a row in the list (its time, its title). */
  private async touch(pk: string): Promise<void> {
    try {
      const conversation = await api.conversation(pk);
      this.conversations.put(conversation);
      this.threads.get(pk)?.update((thread) => ({ ...thread, conversation }));
    } catch (error) {
      problemOf(error); // the list is only older for it
    }
  }

  private async refresh(pk: string, leaf: string | null): Promise<void> {
    const shown = leafOf(this.thread(pk).get())?.pk ?? null;
    const limit = Math.min(MOST_MESSAGES, Math.max(50, this.thread(pk).get().messages.length + 2));
    const page = await api.branch(pk, { leaf, limit });
    const goesOnFromHere = shown === null || page.results.some((message) => message.pk === shown);
    if (leafOf(this.thread(pk).get())?.pk !== (shown ?? undefined)) return; // a turn came meanwhile
    this.adopt(pk, goesOnFromHere ? page : await api.branch(pk, { leaf: shown, limit }));
  }

  private async fetchMessage(pk: string, message: string): Promise<void> {
    try {
      const fresh = await api.message(message);
      this.thread(pk).update((thread) => ({
        ...thread,
        messages: thread.messages.map((one) => (one.pk === message ? fresh : one)),
      }));
    } catch (error) {
      problemOf(error); // what was streamed stays
    }
  }

  /** Takes a page in as the branch, and reads on whatever in it is still being made. */
  private adopt(pk: string, page: api.Page<Message>): void {
    let { messages, older } = joined(this.thread(pk).get(), page);
    for (const { pk: message, generation } of page.results) {
      if (generation === null || api.isOver(generation.state)) continue;
      this.answers().watch(generation.pk, message, false);
      const answer = this.answers().find(generation.pk)?.get();
      if (answer) messages = afterEnd(messages, answer, this.now());
    }
    this.thread(pk).update((thread) => ({ ...thread, status: "ready", messages, older }));
    this.forgetSentDraft(pk, messages);
  }

  /** A try whose answer never came (the page was reloaded) may have been accepted all the same. */
  private forgetSentDraft(pk: string, messages: readonly Message[]): void {
    const { text, attempt } = this.drafts.of(pk).get();
    const isSent = (message: Message) =>
      message.role === "user" && message.parent === attempt?.parent && messageText(message) === text.trim();
    if (attempt && !this.sending(pk).get().isBusy && messages.some(isSent)) this.drafts.clear(pk);
  }

  private complain(pk: string, message: string, problem: Problem): void {
    this.thread(pk).update((thread) => ({ ...thread, problems: { ...thread.problems, [message]: problem } }));
  }
}

function chosen(model: string | null): { model?: string } {
  return model === null ? {} : { model };
}
