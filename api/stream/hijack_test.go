package stream

import (
	"io"
	"net"
	"testing"
)

// TestAClientThatStillSendsGetsTheAnswer: the answer is read whole, though what the client sent was never read before the close.
func TestAClientThatStillSendsGetsTheAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	sent := make(chan struct{})
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		<-sent
		io.WriteString(conn, "it is over")
		lingering{conn}.Close()
	}()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := io.WriteString(client, "input that nobody reads"); err != nil {
		t.Fatal(err)
	}
	close(sent)
	answer, err := io.ReadAll(client)
	if string(answer) != "it is over" || err != nil {
		t.Errorf("read %q, %v", answer, err)
	}
}
