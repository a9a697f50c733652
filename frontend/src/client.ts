// Puts the parts together for one signed-in person: socket, answers, chat, list, drafts.
// Wiring only; it lives from signing in to signing out.
import { announce } from "./announcer";
import { Answers, type Answer } from "./answers";
import * as api from "./api";
import type { Me, Model } from "./api";
import { Chat } from "./chat";
import { ModelChoices } from "./choices";
import { Conversations } from "./conversations";
import { Drafts } from "./drafts";
import { onceAFrame } from "./frames";
import { whenSignedOut } from "./http";
import { problemOf } from "./problem";
import { shownConversation } from "./router";
import * as session from "./session";
import { Socket, type SocketOwner, type Status } from "./socket";
import { Store } from "./store";
import { endWords } from "./words";
import type { EventFrame, Hello, ServerFrame } from "./wire";

const CHANGED_MS = 150;
const TOO_MANY_SOCKETS = 4409;

export class Client implements SocketOwner {
  readonly connection = new Store<Status>("closed");
  readonly hasTooManyTabs = new Store(false);
  readonly models = new Store<readonly Model[]>([]);
  readonly conversations = new Conversations();
  readonly drafts: Drafts;
  readonly choices: ModelChoices;
  readonly chat: Chat;
  readonly answers: Answers;
  private readonly socket: Socket;
  private readonly changedTimers = new Map<string, ReturnType<typeof setTimeout>>();
  private hasBeenOpen = false;

  constructor(readonly me: Me) {
    this.socket = new Socket(this, openWebSocket);
    this.drafts = new Drafts(me.pk, window.localStorage);
    this.choices = new ModelChoices(me.pk, window.localStorage);
    this.chat = new Chat(this.socket, () => this.answers, this.conversations, this.drafts);
    const owner = { onFirst: this.first, onEnd: this.end, onStuck: (answer: Answer) => void this.chat.stuck(answer) };
    this.answers = new Answers(this.socket, owner, onceAFrame);
  }

  /** Connects and loads what the first page needs; gives the way to end it all. */
  start(): () => void {
    whenSignedOut(() => this.onSignedOut());
    this.socket.connect();
    void this.conversations.load();
    void this.loadModels();
    window.addEventListener("online", this.nudge);
    document.addEventListener("visibilitychange", this.nudge);
    return () => this.dispose();
  }

  onEvent(frame: EventFrame, connection: number): void {
    this.answers.event(frame, connection);
  }

  onFrame(frame: Exclude<ServerFrame, Hello | EventFrame>): void {
    if (frame.type === "place") this.answers.place(frame.generation, frame.place);
    if (frame.type === "changed") this.changed(frame.conversation);
  }

  onStatus(status: Status, code?: number): void {
    this.connection.set(status);
    if (status === "waiting") this.hasTooManyTabs.set(code === TOO_MANY_SOCKETS);
    if (status !== "open") return;
    if (this.hasBeenOpen) {
      announce("Connected again");
      void this.conversations.load();
      void this.chat.reconnected(shownConversation());
    }
    this.hasBeenOpen = true;
  }

  onSignedOut(): void {
    session.ended("You were signed out. What you typed is kept.");
  }

  onDoubt(): void {
    void session.check();
  }

  watched() {
    return this.answers.watched();
  }

  private nudge = (): void => {
    if (document.visibilityState === "visible") this.socket.nudge();
  };

  /** Several changes of one conversation in a row are fetched once. */
  private changed(pk: string): void {
    clearTimeout(this.changedTimers.get(pk));
    this.changedTimers.set(
      pk,
      setTimeout(() => void this.chat.changed(pk), CHANGED_MS),
    );
  }

  private first = (answer: Answer): void => {
    if (this.isShown(answer)) announce("Answering");
  };

  private end = (answer: Answer, needsFetch: boolean): void => {
    const isShown = this.isShown(answer);
    this.chat.ended(answer, needsFetch);
    if (!isShown || answer.done === null) return;
    const { state, error_code, finish_reason } = answer.done;
    const words = state === "complete" ? null : endWords({ state, error_code, finish_reason });
    announce(words ?? "Answer finished");
  };

  private isShown(answer: Answer): boolean {
    const shown = shownConversation();
    return shown !== null && this.chat.conversationOf(answer.message) === shown;
  }

  private async loadModels(): Promise<void> {
    try {
      this.models.set((await api.models()).results);
    } catch (error) {
      problemOf(error); // without the list the server's default is used
    }
  }

  private dispose(): void {
    whenSignedOut(() => undefined);
    window.removeEventListener("online", this.nudge);
    document.removeEventListener("visibilitychange", this.nudge);
    for (const timer of this.changedTimers.values()) clearTimeout(timer);
    this.answers.dispose();
    this.socket.close();
  }
}

function openWebSocket(): WebSocket {
  const scheme = window.location.protocol === "https:" ? "wss" : "ws";
  return new WebSocket(`${scheme}://${window.location.host}/ws/v1/`);
}
