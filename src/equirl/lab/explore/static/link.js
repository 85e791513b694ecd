// The socket to the server: requests with answers, and news that come unasked.

class Problem extends Error {
  constructor(reply) {
    super(reply.message);
    this.field = reply.field || null;
    this.service = reply.service || null;
  }
}

export class Link {
  constructor(token) {
    this.token = token;
    this.asked = new Map();
    this.next = 1;
    this.listeners = new Map();
    this.onOpen = () => {};
    this.onLost = () => {};
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/page?token=${encodeURIComponent(this.token)}`);
    this.socket.addEventListener("open", () => this.onOpen());
    this.socket.addEventListener("message", (event) => this.#take(JSON.parse(event.data)));
    this.socket.addEventListener("close", (event) => {
      for (const { reject } of this.asked.values()) reject(new Problem({ message: "the server is gone" }));
      this.asked.clear();
      this.onLost(event.reason);
    });
  }

  get isOpen() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  // Ask for something; resolves with the last reply, and calls onReply with each.
  ask(what, fields = {}, onReply = null) {
    if (!this.isOpen) return Promise.reject(new Problem({ message: "the server is gone" }));
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.asked.set(id, { resolve, reject, onReply, last: null });
      this.socket.send(JSON.stringify({ ...fields, id, do: what }));
    });
  }

  // Say something that needs no answer.
  send(what, fields = {}) {
    if (this.isOpen) this.socket.send(JSON.stringify({ ...fields, id: this.next++, do: what }));
  }

  // Give up what a service is doing.
  cancel(service) {
    this.ask("cancel", { service }).catch(() => {});
  }

  on(kind, listener) {
    this.listeners.set(kind, listener);
  }

  #take(reply) {
    this.listeners.get(reply.kind)?.(reply);
    const request = this.asked.get(reply.id);
    if (!request) return;
    if (reply.kind === "done") {
      this.asked.delete(reply.id);
      request.resolve(request.last);
    } else if (reply.kind === "problem") {
      this.asked.delete(reply.id);
      request.reject(new Problem(reply));
    } else {
      request.last = reply;
      request.onReply?.(reply);
    }
  }
}

// Asks one thing at a time; of what is asked meanwhile only the newest is kept.
export class Latest {
  constructor(run) {
    this.run = run;
    this.busy = false;
    this.waiting = null;
  }

  async ask(given) {
    this.waiting = { given };
    if (this.busy) return;
    this.busy = true;
    while (this.waiting) {
      const next = this.waiting.given;
      this.waiting = null;
      await this.run(next, () => this.waiting !== null);
    }
    this.busy = false;
  }
}
